// Finds the Python package that this program belongs to, and the libraries in it that fit a torch.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime_build/choice.h"

namespace torchport::cli {

// The folder of the Python package torchport: beside the program in an environment, or in the
// folder of `pip install --target`. If it is in neither, the environment's Python is asked. Fails
// if there is none.
[[nodiscard]] base::Result<std::string> package_folder();

// Makes the package importable, and virtual devices possible, in a Python of another environment:
// adds its folder _start to PYTHONPATH. Programs that this process becomes inherit this.
void show_package_to_python();

// The folder of the torch beside the package, else of the one that the environment's Python would
// import. Fails if there is none.
[[nodiscard]] base::Result<std::string> torch_folder(const std::string& package);

// The places of the package's libraries and of those that were compiled here.
[[nodiscard]] runtime_build::Places runtime_places(const std::string& package);

// A program of the package that links torch, ready to be started.
struct RuntimeProgram {
  std::string path;
  std::string torch_libraries;  // the folder for LD_LIBRARY_PATH
};

// The program `name` that fits the torch beside the package, else the torch of the environment's
// Python. Fails if there is no torch, or if the package has no libraries for it.
[[nodiscard]] base::Result<RuntimeProgram> runtime_program(const std::string& name);

}  // namespace torchport::cli
