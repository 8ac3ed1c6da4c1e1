// Which version of torch a target gets: what a person says, else the project's pin, else the newest
// release of the table that serves the target. The newest release alone would not do: it may have
// no build for the device, no wheels for the project's Python, or no virtual devices.
#pragma once

#include <string>

#include "base/result.h"
#include "scaffold/target.h"

namespace torchport::scaffold {

// Adds to the target's notes why it is this version. kUsage where no release of the table serves,
// with the option that names one.
[[nodiscard]] base::Result<std::string> choose_torch(const Project& project,
                                                     const TargetOptions& options, Target& target);

// Whether the Python ("3.12") is one that the project allows.
[[nodiscard]] bool allows_python(const Project& project, const std::string& python);

// Whether a build of this name can be one for the device: "cu130" for CUDA.
[[nodiscard]] bool fits(Device device, std::string_view variant);

}  // namespace torchport::scaffold
