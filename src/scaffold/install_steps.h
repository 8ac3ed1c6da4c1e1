// Writes the commands that install a project and its torch into an environment. Images and
// workflows use the same commands, so that what the tests ran is what the image has.
#pragma once

#include <string>
#include <vector>

#include "scaffold/project.h"
#include "scaffold/target.h"

namespace torchport::scaffold {

// "pip install torch==2.13.0 torchvision --index-url ...".
[[nodiscard]] std::string torch_command(const Target& target);
// Whether that command leaves the choice of a version to pip.
[[nodiscard]] bool leaves_versions_open(const Target& target);

// Installs the requirements files without their lines on torch, which torch_command() covers.
// `asked` are the files that the user named; they include the others. The files are edited in
// place. Empty if there are none.
[[nodiscard]] std::vector<std::string> requirement_commands(const Project& project,
                                                            const std::vector<std::string>& asked);

// The packages that building the project's extension without isolation needs beside torch, without
// torchport if that is already installed.
[[nodiscard]] std::vector<std::string> build_tools(const Project& project, bool has_torchport);

// A command that fails if another build of torch was installed meanwhile.
[[nodiscard]] std::string build_check(const Target& target);

}  // namespace torchport::scaffold
