#include "cli/forward.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/python.h"
#include "cli/session.h"

namespace torchport::cli {

namespace {

// Comes back only where Python cannot be started.
int become_python(const char* module, std::vector<std::string> rest) {
  if (auto& dashes = after_dashes()) {
    rest.emplace_back("--");
    rest.insert(rest.end(), dashes->begin(), dashes->end());
  }
  std::vector<std::string> command{python_of_this_environment(), "-m", module};
  command.insert(command.end(), rest.begin(), rest.end());
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

}  // namespace

void attach_python_command(CLI::App& app, const char* name, const char* summary,
                           const char* module) {
  CLI::App* sub = app.add_subcommand(name, summary);
  sub->set_help_flag();
  sub->prefix_command();
  sub->callback([sub, module] { set_exit_code(become_python(module, sub->remaining())); });
}

}  // namespace torchport::cli
