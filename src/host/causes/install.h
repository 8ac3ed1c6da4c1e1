// The commands that install the right build of torch for a machine.
#pragma once

#include <string>
#include <vector>

#include "host/facts/facts.h"

namespace torchport::host {

// With pip and with uv, for the version in use where it has a build for this machine, else for the
// newest release that has one. Empty where the build in use is the right one, and where the machine
// or its builds are not known well enough: a wrong line is worse than none.
[[nodiscard]] std::vector<std::string> install_lines(const Facts& facts);

}  // namespace torchport::host
