// Runs packages that AOTInductor compiled for a virtual device.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

namespace {

using torch::inductor::AOTIModelContainerRunner;

// Its constants are memory of the device that the caching allocator does not manage.
class ModelRunner final : public AOTIModelContainerRunner {
 public:
  ModelRunner(const std::string& library, std::size_t models, c10::Device device,
              const std::string& folder, bool single_threaded)
      : AOTIModelContainerRunner(library, models, device.str(), folder, single_threaded),
        memory_(Runtime::get().memory(device.index())) {
    const auto address = memory_.allocate_unmanaged(bytes_of_constants());
    TORCH_CHECK(address.has_value(), "CUDA error: out of memory");
    address_ = *address;
  }
  ~ModelRunner() override { memory_.free(address_); }
  ModelRunner(const ModelRunner&) = delete;
  ModelRunner& operator=(const ModelRunner&) = delete;
  ModelRunner(ModelRunner&&) = delete;
  ModelRunner& operator=(ModelRunner&&) = delete;

 private:
  // They lie in one block, each at a multiple of AOTI_CONST_ALIGNMENT.
  [[nodiscard]] std::uint64_t bytes_of_constants() const {
    constexpr std::uint64_t kAlignment = 64;
    std::uint64_t bytes = 0;
    for (const auto& [name, tensor] : extract_constants_map(false)) {
      if (is_virtual(tensor.device()))
        bytes += (tensor.storage().nbytes() + kAlignment - 1) / kAlignment * kAlignment;
    }
    return bytes;
  }

  device::MemoryModel& memory_;
  std::uint64_t address_ = 0;
};

// The code asks for the current device where no number is given; it cannot, without CUDA's runtime.
c10::Device with_number(const std::string& text) {
  const c10::Device device(text);
  return device.has_index() ? device : c10::Device(device.type(), current_device());
}

std::unique_ptr<AOTIModelContainerRunner> make_runner(const std::string& library,
                                                      std::size_t models, const std::string& device,
                                                      const std::string& folder,
                                                      const bool single_threaded) {
  const c10::Device on = with_number(device);
  const c10::DeviceGuard guard(on);  // memory that is not ours is the current device's
  return std::make_unique<ModelRunner>(library, models, on, folder, single_threaded);
}

// A runner of one compiled library, for Python: torch._C._aoti.AOTIModelContainerRunnerCuda.
class LoadedModel final : public torch::CustomClassHolder {
 public:
  using Tensors = c10::Dict<std::string, at::Tensor>;

  // NOLINTBEGIN(performance-unnecessary-value-param): torch asks for values
  LoadedModel(std::string library, std::int64_t models, std::string device, std::string folder)
      : device_(with_number(device)),
        runner_(make_runner(library, static_cast<std::size_t>(models), device_.str(), folder,
                            /*single_threaded=*/false)) {}

  std::vector<at::Tensor> run(std::vector<at::Tensor> inputs) { return runner_->run(inputs); }

  std::vector<std::string> call_spec() { return runner_->get_call_spec(); }

  c10::Dict<std::string, std::string> original_names() {
    c10::Dict<std::string, std::string> names;
    for (const auto& [name, original] : runner_->getConstantNamesToOriginalFQNs()) {
      names.insert(name, original);
    }
    return names;
  }

  c10::Dict<std::string, std::int64_t> types() {
    c10::Dict<std::string, std::int64_t> types;
    for (const auto& [name, type] : runner_->getConstantNamesToDtypes()) types.insert(name, type);
    return types;
  }

  Tensors constants(bool of_inactive) {
    Tensors constants;
    for (const auto& [name, tensor] : runner_->extract_constants_map(of_inactive)) {
      constants.insert(name, tensor);
    }
    return constants;
  }

  void update(Tensors tensors, bool inactive, bool all, bool keeps) {
    std::unordered_map<std::string, at::Tensor> given;
    for (const auto& entry : tensors) given.emplace(entry.key(), entry.value());
    const c10::DeviceGuard guard(device_);
    runner_->update_constant_buffer(given, inactive, all, keeps);
  }
  // NOLINTEND(performance-unnecessary-value-param)

  void swap() { runner_->swap_constant_buffer(); }
  void free_inactive() { runner_->free_inactive_constant_buffer(); }

 private:
  c10::Device device_;
  std::unique_ptr<AOTIModelContainerRunner> runner_;
};

// Is not thread safe, as the registry is not: it is called once, before any package is loaded.
void register_runner(const std::string& device) {
  torch::inductor::getAOTIModelRunnerRegistry()[device] = &make_runner;
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("register_model_runner(str device) -> ()", &register_runner);
  library.class_<LoadedModel>("LoadedModel")
      .def(torch::init<std::string, std::int64_t, std::string, std::string>())
      .def("run", &LoadedModel::run)
      .def("get_call_spec", &LoadedModel::call_spec)
      .def("get_constant_names_to_original_fqns", &LoadedModel::original_names)
      .def("get_constant_names_to_dtypes", &LoadedModel::types)
      .def("extract_constants_map", &LoadedModel::constants)
      .def("update_constant_buffer", &LoadedModel::update)
      .def("swap_constant_buffer", &LoadedModel::swap)
      .def("free_inactive_constant_buffer", &LoadedModel::free_inactive);
}

}  // namespace

}  // namespace torchport::vdev
