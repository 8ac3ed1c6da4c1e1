// Subcommands whose work is on Python objects: this process becomes Python.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace torchport::cli {

// Adds subcommand `name`, which hands all of its arguments, --help too, to `python -m module` of
// this environment. The module's exit codes are those of command.h.
void attach_python_command(CLI::App& app, const char* name, const char* summary,
                           const char* module);

}  // namespace torchport::cli
