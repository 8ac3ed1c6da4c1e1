// Runs torch.export archives.
#include <torchport/device.h>
#include <torchport/program.h>

#include "runtime/deploy/engines/engine.h"

namespace torchport::deploy {

namespace {

class ProgramEngine final : public Engine {
 public:
  ProgramEngine(const std::string& path, c10::Device device) : program_(path, device) {}

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) override {
    return program_.run(inputs);
  }

  [[nodiscard]] std::string runtime() const override { return "torch.export " + torch_version(); }

 private:
  Program program_;
};

std::unique_ptr<Engine> open_program(const std::string& path, const Contract& /*contract*/,
                                     c10::Device device, const SessionOptions& /*options*/) {
  return std::make_unique<ProgramEngine>(path, device);
}

const EngineRegistration kProgram({.name = "pt2", .open = &open_program});

}  // namespace

}  // namespace torchport::deploy
