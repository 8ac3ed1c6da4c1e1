// Implements `torchport server`.
#include "source/server/server.h"

#include <cerrno>
#include <csignal>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/tell.h"
#include "cli/command.h"

namespace torchport::cli::server_command {

namespace {

std::size_t read_some(char* into, std::size_t size) {
  while (true) {
    const ssize_t got = read(STDIN_FILENO, into, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return 0;
  }
}

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(STDOUT_FILENO, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

int run() {
  if (isatty(STDIN_FILENO) == 1)
    base::tell(
        "torchport server speaks the language server protocol over standard input and "
        "output: an editor starts it (docs/editor.md). Ctrl-C ends it.\n");
  // An editor that has gone is an error of a write, and Ctrl-C has no work to finish.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_DFL);
  return server::serve(base::real_file_system(), &read_some, &write_all, TORCHPORT_VERSION);
}

void attach(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "server", "Show findings and fixes in an editor: the language server, over stdin and stdout");
  sub->add_flag("--stdio")->description("What editors pass; this is the only way to talk to it");
  sub->callback([] { set_exit_code(run()); });
}

const CommandRegistration kRegistered{{.order = 19, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::server_command
