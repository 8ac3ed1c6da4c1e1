// Subcommands of `torchport`. Each is one file and registers itself.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace torchport::cli {

// Exit codes, as documented in --help.
inline constexpr int kClean = 0;
inline constexpr int kFindings = 1;
inline constexpr int kUsageError = 2;
inline constexpr int kInternalError = 3;

struct Command {
  int order = 0;  // place in --help
  void (*attach)(CLI::App& app) =
      nullptr;                  // adds the subcommand and its options; sets its callback
  std::string_view takes_rest;  // its name, when what follows `--` is not for torchport
};

struct CommandRegistration {
  explicit CommandRegistration(Command command);
};

[[nodiscard]] std::vector<Command> all_commands();

// What followed the first `--` of the command line; none where there was no `--`. Set by main for
// commands that take it.
[[nodiscard]] std::optional<std::vector<std::string>>& after_dashes();

// What the chosen subcommand's callback leaves as exit code.
void set_exit_code(int code);
[[nodiscard]] int exit_code();

// Set by ctrl-C: long work looks at it between files.
[[nodiscard]] std::atomic<bool>& interrupted();

}  // namespace torchport::cli
