#include "cli/forward.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/python.h"
#include "cli/terminal.h"

namespace torchport::cli {

namespace {

// Returns only if the program cannot be started.
int become(std::vector<std::string> command, const std::vector<std::string>& rest) {
  command.insert(command.end(), rest.begin(), rest.end());
  if (auto& dashes = after_dashes()) {
    command.emplace_back("--");
    command.insert(command.end(), dashes->begin(), dashes->end());
  }
  std::fflush(nullptr);
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  print_error({base::ErrorCode::kUsage,
               fmt::format("cannot start {}: {}", command.front(), std::strerror(errno)),
               {},
               0});
  return kUsageError;
}

// Passes all words after the subcommand's name to `command`.
void attach_forward(CLI::App& app, const char* name, const char* summary,
                    std::function<std::vector<std::string>()> command) {
  CLI::App* sub = app.add_subcommand(name, summary);
  sub->set_help_flag();
  sub->prefix_command();
  sub->callback(
      [sub, command = std::move(command)] { set_exit_code(become(command(), sub->remaining())); });
}

}  // namespace

void attach_python_command(CLI::App& app, const char* name, const char* summary,
                           const char* module) {
  attach_forward(app, name, summary, [module] {
    return std::vector<std::string>{python_of_this_environment(), "-m", module};
  });
}

void attach_program_command(CLI::App& app, const char* name, const char* summary,
                            const char* program) {
  attach_forward(app, name, summary,
                 [program] { return std::vector<std::string>{(own_folder() / program).string()}; });
}

}  // namespace torchport::cli
