#include "cli/command.h"
#include "cli/forward.h"

namespace torchport::cli {

namespace {

void attach(CLI::App& app) {
  attach_python_command(app, "infer", "Run batches through an exported model",
                        "torchport.deploy.infer.command");
}

const CommandRegistration kRegistered{{.order = 13, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli
