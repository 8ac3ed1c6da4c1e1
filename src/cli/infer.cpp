#include "cli/command.h"
#include "cli/forward.h"

namespace torchport::cli::infer_command {

namespace {

void attach(CLI::App& app) {
  attach_program_command(app, "infer", "Run batches through an exported model without Python",
                         "torchport-infer", {"--engine", "torchport.deploy.cluster.command"});
}

const CommandRegistration kRegistered{{.order = 13, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::infer_command
