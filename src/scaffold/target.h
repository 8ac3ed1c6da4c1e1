// Decides what an image is made for: the device, the build of torch for it, the Python, and the
// base images. The decision depends on the target and never on the machine that writes the files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "scaffold/project.h"

namespace torchport::scaffold {

struct DeviceTarget;

// The names of all device targets, in their order: "cpu", "cuda", "rocm", "xpu".
[[nodiscard]] std::vector<std::string> device_names();

// What the user chooses. If a member is empty, the project's files decide.
struct TargetOptions {
  std::string device = "cpu";
  std::string torch;      // "2.13.0"
  std::string variant;    // "cu126"
  std::string python;     // "3.12"
  std::string arch_list;  // "8.0;9.0+PTX"; for ROCm "gfx90a;gfx942"
  // Whether only versions of torch count that the virtual devices are tested for.
  bool virtual_devices = false;
};

// The base images. Native code is compiled in an image with compilers, and runs in one without.
struct Images {
  std::string build;
  std::string runtime;
  std::string python = "python";  // its name in both
  // The image with CUDA's toolkit, and the toolkit's folder in it; empty if none is needed.
  std::string toolkit;
  std::string toolkit_folder;
  std::vector<std::string> build_packages;  // of the distribution
  std::vector<std::string> runtime_packages;
};

struct Target {
  const DeviceTarget* device = nullptr;  // never null once it is chosen
  std::string torch;                     // "2.13.0"
  std::string variant;                   // "cu130"
  std::string python;                    // "3.12"
  std::string arch_list;                 // empty if nothing is compiled for GPUs
  std::vector<std::string> family;  // "torch==2.13.0", "torchvision": the packages from the index
  Images images;
  std::vector<std::string> notes;  // what was chosen and why, and what the user should check
};

// Decides. Fails with kUsage if no device target has the name, or if the project does not say
// something; the message names the option that does.
[[nodiscard]] base::Result<Target> choose_target(const Project& project,
                                                 const TargetOptions& options);

}  // namespace torchport::scaffold
