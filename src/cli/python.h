// Finds the Python environment that torchport is installed in.
#pragma once

#include <filesystem>
#include <string>

namespace torchport::cli {

// The folder of this program; empty if unknown.
[[nodiscard]] std::filesystem::path own_folder();

// The interpreter beside this program in the environment's bin/, else the first `python3` on the
// PATH.
[[nodiscard]] std::string python_of_this_environment();

// The folder of the environment in which this program is installed; empty if unknown.
[[nodiscard]] std::string own_prefix();

}  // namespace torchport::cli
