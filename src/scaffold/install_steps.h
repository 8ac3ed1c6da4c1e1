// The commands that install a project and its torch into an environment. Images and workflows use
// the same commands.
#pragma once

#include <string>
#include <vector>

#include "scaffold/project.h"
#include "scaffold/target.h"

namespace torchport::scaffold {

// "pip install torch==2.13.0 torchvision --index-url ...".
[[nodiscard]] std::string torch_command(const Target& target);
// Whether it leaves a version to pip.
[[nodiscard]] bool leaves_versions_open(const Target& target);

// Installs the requirements files, less what they say of torch, which is answered by
// torch_command(). `asked`: those that were asked for by name; the others are included by them. The
// files are edited where they stand. Empty where there are none.
[[nodiscard]] std::vector<std::string> requirement_commands(const Project& project,
                                                            const std::vector<std::string>& asked);

// What building the project's extension takes beside torch, where it is built without isolation;
// less torchport, where that is there already.
[[nodiscard]] std::vector<std::string> build_tools(const Project& project, bool has_torchport);

// Fails where another build of torch has come in.
[[nodiscard]] std::string build_check(const Target& target);

}  // namespace torchport::scaffold
