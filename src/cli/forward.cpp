#include "cli/forward.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/package.h"
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
  // Not execvp for a path: it would give a damaged program to the shell, which does nothing or
  // worse.
  if (command.front().find('/') != std::string::npos)
    execv(words.front(), words.data());
  else
    execvp(words.front(), words.data());
  print_error({base::ErrorCode::kUsage,
               fmt::format("cannot start {}: {}", command.front(), std::strerror(errno)),
               {},
               0});
  return kUsageError;
}

// `python -m` would import what the current folder has of the same name as a module of Python: a
// downloaded model may lie beside a typing.py. The folder is on the path once a module of it is
// named (python/torchport/_named.py). `python -P` does the same, since Python 3.11.
std::vector<std::string> python_module(const char* module) {
  const Python python = find_python();
  if (!python.own) show_package_to_python();
  return {python.program, "-c",
          fmt::format("import sys\n"
                      "if sys.path[:1] == ['']: del sys.path[0]\n"
                      "import runpy\n"
                      "runpy._run_module_as_main('{}')",
                      module)};
}

// Passes all words after the subcommand's name to `command`.
void attach_forward(
    CLI::App& app, const char* name, const char* summary,
    std::function<base::Result<std::vector<std::string>>(const std::vector<std::string>& rest)>
        command) {
  CLI::App* sub = app.add_subcommand(name, summary);
  sub->set_help_flag();
  sub->prefix_command();
  sub->callback([sub, command = std::move(command)] {
    auto words = command(sub->remaining());
    if (words) {
      set_exit_code(become(std::move(*words), sub->remaining()));
    } else {
      print_error(words.error());
      set_exit_code(kUsageError);
    }
  });
}

}  // namespace

int become_python_module(const char* module, const std::vector<std::string>& words) {
  return become(python_module(module), words);
}

void attach_python_command(CLI::App& app, const char* name, const char* summary,
                           const char* module) {
  attach_forward(app, name, summary,
                 [module](const auto& /*rest*/) { return python_module(module); });
}

void attach_program_command(CLI::App& app, const char* name, const char* summary,
                            const char* program, const PythonCase& python) {
  using Words = base::Result<std::vector<std::string>>;
  attach_forward(app, name, summary, [program, python](const auto& rest) -> Words {
    if (std::any_of(rest.begin(), rest.end(), [&](const std::string& word) {
          return word == python.option || word.starts_with(std::string(python.option) + "=");
        }))
      return python_module(python.module);
    const auto found = runtime_program(program);
    if (!found) return tl::unexpected<base::Error>(found.error());
    const char* given = std::getenv("LD_LIBRARY_PATH");
    const std::string more = given == nullptr || *given == '\0' ? "" : given;
    setenv("LD_LIBRARY_PATH", (found->torch_libraries + (more.empty() ? "" : ":") + more).c_str(),
           1);
    return std::vector<std::string>{found->path};
  });
}

}  // namespace torchport::cli
