// Chooses the version of torch for a target: the one that the user names, else the project's pin,
// else the newest release of the table that fits the target. The newest release alone would not do:
// it may have no build for the device, no wheels for the project's Python, or no virtual devices.
#pragma once

#include <string>

#include "base/result.h"
#include "scaffold/target.h"

namespace torchport::scaffold {

// Chooses the version, and adds the reason to the target's notes. Fails with kUsage if no release
// of the table fits; the message names the option that selects one.
[[nodiscard]] base::Result<std::string> choose_torch(const Project& project,
                                                     const TargetOptions& options, Target& target);

// Whether the project allows this Python ("3.12").
[[nodiscard]] bool allows_python(const Project& project, const std::string& python);

}  // namespace torchport::scaffold
