// The Python that torchport belongs to.
#pragma once

#include <filesystem>
#include <string>

namespace torchport::cli {

// Where this program lies; empty where that cannot be told.
[[nodiscard]] std::filesystem::path own_folder();

// The interpreter beside this program, as both are in one environment's bin/; else the first
// `python3` of the PATH.
[[nodiscard]] std::string python_of_this_environment();

// The folder of the environment that this program is installed in; empty where that cannot be told.
[[nodiscard]] std::string own_prefix();

}  // namespace torchport::cli
