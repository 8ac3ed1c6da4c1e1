#include "cli/command.h"
#include "cli/forward.h"

namespace torchport::cli {

namespace {

void attach(CLI::App& app) {
  attach_python_command(
      app, "export",
      "Export a model to onnx, pt2, aoti or torchscript, and compare the result with the model",
      "torchport.deploy.artefact.command");
}

const CommandRegistration kRegistered{{.order = 11, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli
