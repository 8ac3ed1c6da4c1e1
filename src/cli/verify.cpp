#include "cli/command.h"
#include "cli/forward.h"

namespace torchport::cli::verify_command {

namespace {

void attach(CLI::App& app) {
  attach_python_command(
      app, "verify",
      "Run a model once and report where its tensors are, what mixes devices, and what is copied",
      "torchport.observe.command");
}

const CommandRegistration kRegistered{{.order = 10, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::verify_command
