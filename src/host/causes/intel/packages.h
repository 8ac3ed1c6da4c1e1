// Says how Intel's Level Zero and its driver are installed.
#pragma once

#include <string>

#include "host/facts/facts.h"

namespace torchport::host::intel {

// The command for the distribution, or where the packages are. In a container it is a line of its
// image, because what is installed there is lost with it.
[[nodiscard]] std::string install_level_zero(const Facts& facts);

}  // namespace torchport::host::intel
