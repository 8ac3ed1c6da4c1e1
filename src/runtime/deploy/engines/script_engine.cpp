// Runs TorchScript archives.
#include <stdexcept>

#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torchport/device.h>

#include "runtime/deploy/engines/engine.h"

namespace torchport::deploy {

namespace {

// Collects the tensors in a module's result, in order. None is left out, as in the contract.
void flatten(const c10::IValue& value, std::vector<at::Tensor>& into) {
  if (value.isTensor()) {
    into.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const auto& part : value.toTupleRef().elements()) flatten(part, into);
  } else if (value.isList()) {
    for (const auto& part : value.toListRef()) flatten(part, into);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) flatten(entry.value(), into);
  } else if (!value.isNone()) {
    throw std::runtime_error("the module gave a " + value.tagKind() + ", not a tensor");
  }
}

class ScriptEngine final : public Engine {
 public:
  ScriptEngine(const std::string& path, c10::Device device)
      : module_(torch::jit::load(path, device)) {
    module_.eval();
    for (const auto& parameter : module_.named_parameters()) {
      if (parameter.value.device() == device) continue;
      throw std::runtime_error("cannot run " + path + ": " + parameter.name + " is on " +
                               parameter.value.device().str() + ", not on " + device.str());
    }
  }

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) override {
    const c10::InferenceMode no_gradients;
    std::vector<at::Tensor> outputs;
    flatten(module_.forward({inputs.begin(), inputs.end()}), outputs);
    return outputs;
  }

  [[nodiscard]] std::string runtime() const override { return "TorchScript " + torch_version(); }

 private:
  torch::jit::Module module_;
};

std::unique_ptr<Engine> open_script(const std::string& path, const Contract& /*contract*/,
                                    c10::Device device, const SessionOptions& /*options*/) {
  return std::make_unique<ScriptEngine>(path, device);
}

const EngineRegistration kScript({.name = "torchscript", .open = &open_script});

}  // namespace

}  // namespace torchport::deploy
