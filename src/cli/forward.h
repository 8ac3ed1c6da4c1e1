// Implements subcommands that another program does: this process becomes that program, so that
// `torchport` is the one entry to all of them.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace torchport::cli {

// This process becomes `python -m module words...` of this environment. Returns only if Python
// cannot be started: the exit code.
[[nodiscard]] int become_python_module(const char* module, const std::vector<std::string>& words);

// Adds the subcommand `name`, which passes all of its arguments (also --help) to `python -m module`
// of this environment. The module's exit codes are those of command.h.
void attach_python_command(CLI::App& app, const char* name, const char* summary,
                           const char* module);

// Words with `option` are for a module of Python instead.
struct PythonCase {
  const char* option;
  const char* module;
};

// Does the same for a program of the package that links torch: the one that fits the torch of this
// environment.
void attach_program_command(CLI::App& app, const char* name, const char* summary,
                            const char* program, const PythonCase& python);

}  // namespace torchport::cli
