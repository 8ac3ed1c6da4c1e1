#include "runtime/virtual/core/generator.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GeneratorImpl.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/watch/trace.h"

namespace torchport::vdev {

namespace {

class HostGenerator final : public c10::GeneratorImpl {
 public:
  explicit HostGenerator(c10::DeviceIndex device)
      : HostGenerator(device, at::detail::createCPUGenerator(c10::default_rng_seed_val)) {}
  HostGenerator(c10::DeviceIndex device, at::Generator twin)
      : GeneratorImpl(c10::Device(Runtime::get().kind().type, device),
                      c10::DispatchKeySet(Runtime::get().kind().dense)),
        twin_(std::move(twin)) {}

  void set_current_seed(std::uint64_t seed) override { twin_.set_current_seed(seed); }
  void set_offset(std::uint64_t offset) override { offset_ = offset; }
  [[nodiscard]] std::uint64_t get_offset() const override { return offset_; }
  [[nodiscard]] std::uint64_t current_seed() const override { return twin_.current_seed(); }
  std::uint64_t seed() override { return twin_.seed(); }
  void set_state(const c10::TensorImpl& state) override {
    // This is the state of a real device's generator, from a checkpoint: its seed and its offset.
    // The program continues with other numbers than there.
    if (state.numel() == 2 * sizeof(std::uint64_t) && state.itemsize() == 1) {
      at::detail::check_rng_state(state);
      std::array<std::uint64_t, 2> seed_and_offset{};
      std::memcpy(seed_and_offset.data(), state.data(), sizeof(seed_and_offset));
      set_current_seed(seed_and_offset[0]);
      offset_ = seed_and_offset[1];
      return;
    }
    twin_.unsafeGetGeneratorImpl()->set_state(state);
  }
  [[nodiscard]] c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return twin_.unsafeGetGeneratorImpl()->get_state();
  }

  [[nodiscard]] const at::Generator& twin() const { return twin_; }

 private:
  [[nodiscard]] GeneratorImpl* clone_impl() const override {
    return new HostGenerator(device_.index(), twin_.clone());
  }

  at::Generator twin_;
  std::uint64_t offset_ = 0;
};

// Mixes the bits of a number (the finaliser of SplitMix64), so that near states of a device's
// generator give unrelated seeds of a CPU generator.
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

at::Generator make_default(c10::DeviceIndex device) {
  // A trace is compared with that of a run on the CPU, which has one generator for everything.
  if (TraceWriter::of_environment() != nullptr)
    return at::make_generator<HostGenerator>(device, at::detail::getDefaultCPUGenerator());
  at::Generator generator = new_generator(device);
  generator.seed();
  return generator;
}

}  // namespace

bool draws_as_device() {
  // A program that is traced is compared with its port on the CPU.
  static const bool kDrawsAsDevice =
      Runtime::get().random_numbers() == device::RandomNumbers::kDevice &&
      std::getenv("TORCHPORT_TRACE") == nullptr;
  return kDrawsAsDevice;
}

const at::Generator& default_generator(c10::DeviceIndex device) {
  static auto* generators = [] {
    auto* all = new std::vector<at::Generator>();
    Runtime::get().settle();
    for (c10::DeviceIndex i = 0; i < Runtime::get().count(); ++i) all->push_back(make_default(i));
    return all;
  }();
  const c10::DeviceIndex index = device < 0 ? current_device() : device;
  TORCH_CHECK(index < Runtime::get().count(),
              "Default CUDA generators are not initialized for device ", static_cast<int>(index));
  return (*generators)[static_cast<std::size_t>(index)];
}

at::Generator new_generator(c10::DeviceIndex device) {
  const c10::DeviceIndex index = device < 0 ? current_device() : device;
  // A generator of CUDA may be made for any index (CUDAGeneratorImpl.cpp): who draws from it looks.
  if (Runtime::get().kind_name() != "cuda") static_cast<void>(Runtime::get().memory(index));
  if (draws_as_device()) return at::make_generator<PhiloxGenerator>(index);
  return at::make_generator<HostGenerator>(index);
}

std::optional<at::Generator> generator_for(const at::Tensor& self,
                                           const std::optional<at::Generator>& generator) {
  TORCH_CHECK(is_virtual(self.device()), "Expected a '", self.device().type(),
              "' device type for generator but found '", PhiloxGenerator::device_type(), "'");
  if (generator.has_value() && generator->defined()) return generator;
  return default_generator(self.device().index());
}

at::Generator host_generator(const at::Generator& generator, std::uint64_t numbers) {
  if (auto* philox = dynamic_cast<PhiloxGenerator*>(generator.unsafeGetGeneratorImpl())) {
    const device::PhiloxPlace place = philox->reserve(numbers);
    return at::detail::createCPUGenerator(mixed(place.seed ^ mixed(place.offset)));
  }
  auto* own = dynamic_cast<HostGenerator*>(generator.unsafeGetGeneratorImpl());
  TORCH_CHECK(own != nullptr, "Expected a '", Runtime::get().kind_name(),
              "' device type for generator but found '", generator.device().type(), "'");
  return own->twin();
}

std::uint64_t numbers_reserved_by(const std::string& name) {
  // aten/src/ATen/native/cuda/Distributions.cpp; other operators draw at most one block.
  if (name == "aten::poisson") return 20;
  if (name == "aten::_standard_gamma" || name == "aten::_sample_dirichlet") return 10;
  if (name == "aten::binomial") return 42;
  return 4;
}

DrawFrom::DrawFrom(c10::DeviceIndex device) {
  if (device == kNoDevice) return;
  at::Generator host = host_generator(default_generator(device), numbers_reserved_by({}));
  // In a traced run they are one.
  if (host == at::detail::getDefaultCPUGenerator()) return;
  host_ = std::move(host);
  exchange();
}

void DrawFrom::exchange() const {
  auto* cpu = at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
  auto* own = at::check_generator<at::CPUGeneratorImpl>(host_);
  const std::scoped_lock lock(cpu->mutex_, own->mutex_);
  const at::mt19937 engine = cpu->engine();
  cpu->set_engine(own->engine());
  own->set_engine(engine);
  const auto next_float = cpu->next_float_normal_sample();
  cpu->set_next_float_normal_sample(own->next_float_normal_sample());
  own->set_next_float_normal_sample(next_float);
  const auto next_double = cpu->next_double_normal_sample();
  cpu->set_next_double_normal_sample(own->next_double_normal_sample());
  own->set_next_double_normal_sample(next_double);
}

}  // namespace torchport::vdev
