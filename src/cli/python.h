// Finds the Python environment that torchport is installed in, and the one that it serves.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace torchport::cli {

// The folder of this program; empty if unknown.
[[nodiscard]] std::filesystem::path own_folder();

// The folder of the environment in which this program is installed; empty if unknown.
[[nodiscard]] std::string own_prefix();

// Where an environment may have packages, whether the folders are there or not.
[[nodiscard]] std::vector<std::filesystem::path> site_folders(const std::filesystem::path& prefix);

struct Python {
  std::string program;
  bool own = false;  // it is in the environment of this program, and has the package torchport
};

// The interpreter that runs the user's programs and models: the one beside this program in the
// environment's bin/. If that environment has no torch (pipx and `uv tool` make one for torchport
// alone), it is the first one with torch of VIRTUAL_ENV, CONDA_PREFIX and the PATH. If none has
// torch and none is beside this program, it is `python3`.
[[nodiscard]] Python find_python();

// find_python() without asking whose it is.
[[nodiscard]] std::string python_of_this_environment();

}  // namespace torchport::cli
