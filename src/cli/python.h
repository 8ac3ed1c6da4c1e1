// The Python that torchport belongs to.
#pragma once

#include <string>

namespace torchport::cli {

// The interpreter beside this program, as both are in one environment's bin/; else the first
// `python3` of the PATH.
[[nodiscard]] std::string python_of_this_environment();

// The folder of the environment that this program is installed in; empty where that cannot be told.
[[nodiscard]] std::string own_prefix();

}  // namespace torchport::cli
