// Subcommands whose work another program does: this process becomes that program.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace torchport::cli {

// Adds subcommand `name`, which hands all of its arguments, --help too, to `python -m module` of
// this environment. The module's exit codes are those of command.h.
void attach_python_command(CLI::App& app, const char* name, const char* summary,
                           const char* module);

// The same for a program that is installed beside this one.
void attach_program_command(CLI::App& app, const char* name, const char* summary,
                            const char* program);

}  // namespace torchport::cli
