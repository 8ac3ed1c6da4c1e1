// The commands that install the build of torch that is right for a machine.
#pragma once

#include <string>
#include <vector>

#include "host/facts/facts.h"

namespace torchport::host {

// With pip and with uv. Empty where the build in use is the right one already, or where what there
// is cannot be told well enough: a wrong line is worse than none.
[[nodiscard]] std::vector<std::string> install_lines(const Facts& facts);

}  // namespace torchport::host
