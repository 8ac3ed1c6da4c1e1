// Computes the commands that install the right build of torch for a machine.
#pragma once

#include <string>
#include <vector>

#include "host/facts/facts.h"

namespace torchport::host {

// The commands for pip and for uv: for the installed version if it has a build for this machine,
// else for the newest release that has one. Empty if the installed build is right, and if the
// machine or its builds are not known well enough, because a wrong command is worse than none.
[[nodiscard]] std::vector<std::string> install_lines(const Facts& facts);

// The build for NVIDIA's cards that these commands install: "torch 2.7.1 for CUDA 12.8"; empty if
// there is none.
[[nodiscard]] std::string build_to_install(const Facts& facts);

}  // namespace torchport::host
