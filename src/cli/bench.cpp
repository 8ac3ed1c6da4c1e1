#include "cli/command.h"
#include "cli/forward.h"

namespace torchport::cli::bench_command {

namespace {

void attach(CLI::App& app) {
  attach_python_command(app, "bench",
                        "Measure a model in each deployment mode: peak memory, latency, throughput",
                        "torchport.deploy.bench.command");
}

const CommandRegistration kRegistered{{.order = 12, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::bench_command
