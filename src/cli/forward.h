// Implements subcommands that another program does: this process becomes that program, so that
// `torchport` is the one entry to all of them.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace torchport::cli {

// Adds the subcommand `name`, which passes all of its arguments (also --help) to `python -m module`
// of this environment. The module's exit codes are those of command.h.
void attach_python_command(CLI::App& app, const char* name, const char* summary,
                           const char* module);

// Does the same for a program that is installed beside this one.
void attach_program_command(CLI::App& app, const char* name, const char* summary,
                            const char* program);

}  // namespace torchport::cli
