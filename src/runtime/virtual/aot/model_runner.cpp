// Runs packages that AOTInductor compiled for a virtual device.
#include <memory>
#include <string>

#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>
#include <torch/library.h>

#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

namespace {

using torch::inductor::AOTIModelContainerRunner;

class ModelRunner final : public AOTIModelContainerRunner {
 public:
  ModelRunner(const std::string& library, std::size_t models, const std::string& device,
              const std::string& folder, bool single_threaded)
      : AOTIModelContainerRunner(library, models, device, folder, single_threaded) {}
};

// The code asks for the current device where no number is given; it cannot, without CUDA's runtime.
std::string with_number(const std::string& device) {
  if (device.find(':') != std::string::npos) return device;
  return device + ":" + std::to_string(current_device());
}

std::unique_ptr<AOTIModelContainerRunner> make_runner(const std::string& library,
                                                      std::size_t models,
                                                      const std::string& device,
                                                      const std::string& folder,
                                                      const bool single_threaded) {
  return std::make_unique<ModelRunner>(library, models, with_number(device), folder,
                                       single_threaded);
}

// Is not thread safe, as the registry is not: it is called once, before any package is loaded.
void register_runner(const std::string& device) {
  torch::inductor::getAOTIModelRunnerRegistry()[device] = &make_runner;
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("register_model_runner(str device) -> ()", &register_runner);
}

}  // namespace

}  // namespace torchport::vdev
