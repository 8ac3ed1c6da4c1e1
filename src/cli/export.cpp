#include "cli/command.h"
#include "cli/forward.h"

namespace torchport::cli::export_command {

namespace {

void attach(CLI::App& app) {
  attach_python_command(
      app, "export",
      "Export a model to a file that runs without its source code, and compare the results",
      "torchport.deploy.artefact.command");
}

const CommandRegistration kRegistered{{.order = 11, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::export_command
