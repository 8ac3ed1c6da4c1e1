// Registers the subcommands of `torchport`. Each is one file with a registration; no list names
// them.
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
inline constexpr int kNotKnown = 4;

struct Command {
  int order = 0;  // position in --help
  void (*attach)(CLI::App& app) =
      nullptr;                  // adds the subcommand and its options, and sets its callback
  std::string_view takes_rest;  // its name, if the words after `--` are not for torchport
};

struct CommandRegistration {
  explicit CommandRegistration(Command command);
};

[[nodiscard]] std::vector<Command> all_commands();

// The words after the first `--` of the command line; none if there was no `--`. main() sets it for
// commands that take them.
[[nodiscard]] std::optional<std::vector<std::string>>& after_dashes();

// The exit code, which the subcommand's callback sets.
void set_exit_code(int code);
[[nodiscard]] int exit_code();

// Set by Ctrl-C. Long work tests it between files.
[[nodiscard]] std::atomic<bool>& interrupted();

}  // namespace torchport::cli
