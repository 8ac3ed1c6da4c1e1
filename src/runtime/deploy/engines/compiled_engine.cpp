// Runs AOTInductor packages.
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torchport/device.h>

#include "runtime/deploy/engines/engine.h"

namespace torchport::deploy {

namespace {

class CompiledEngine final : public Engine {
 public:
  CompiledEngine(const std::string& path, c10::Device device)
      : loader_(path, "model", /*run_single_threaded=*/false, /*num_runners=*/1,
                device.is_cpu() ? c10::DeviceIndex(-1) : device.index()) {}

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) override {
    std::vector<at::Tensor> outputs = loader_.run(inputs);
    // The contract leaves out outputs that are None.
    std::erase_if(outputs, [](const at::Tensor& output) { return !output.defined(); });
    return outputs;
  }

  [[nodiscard]] std::string runtime() const override { return "AOTInductor " + torch_version(); }

 private:
  torch::inductor::AOTIModelPackageLoader loader_;
};

std::unique_ptr<Engine> open_compiled(const std::string& path, const Contract& /*contract*/,
                                      c10::Device device, const SessionOptions& /*options*/) {
  return std::make_unique<CompiledEngine>(path, device);
}

const EngineRegistration kCompiled({.name = "aoti", .open = &open_compiled});

}  // namespace

}  // namespace torchport::deploy
