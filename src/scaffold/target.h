// What an image is made for: the device, the build of torch for it, the Python, the images that it
// stands on. Decided for the target, never by the machine that writes the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scaffold/project.h"

namespace torchport::scaffold {

enum class Device : std::uint8_t { kCpu, kCuda, kRocm, kXpu };
// "cpu", "cuda", "rocm", "xpu".
[[nodiscard]] std::string_view to_text(Device device);
[[nodiscard]] std::optional<Device> parse_device(std::string_view text);

// What a person says; empty where the project's files decide.
struct TargetOptions {
  Device device = Device::kCpu;
  std::string torch;      // "2.13.0"
  std::string variant;    // "cu126": the name of the index
  std::string python;     // "3.12"
  std::string arch_list;  // "8.0;9.0+PTX"; of ROCm "gfx90a;gfx942"
  // Only versions of torch that the virtual devices are tested for.
  bool virtual_devices = false;
};

// Native code against torch is compiled in an image with the compilers, and runs in one without.
struct Images {
  std::string build;
  std::string runtime;
  std::string python = "python";  // its name in both
  // Where CUDA's toolkit comes from, and the folder in it; empty where none is needed.
  std::string toolkit;
  std::string toolkit_folder;
  std::vector<std::string> build_packages;  // of the distribution
  std::vector<std::string> runtime_packages;
};

struct Target {
  Device device = Device::kCpu;
  std::string torch;                // "2.13.0"
  std::string variant;              // "cu130"
  std::string python;               // "3.12"
  std::string arch_list;            // empty where nothing is compiled for GPUs
  std::vector<std::string> family;  // "torch==2.13.0", "torchvision": what comes from the index
  Images images;
  std::vector<std::string> notes;  // what was chosen and why, what has to be looked at
};

// kUsage where something cannot be told from the project, with the option that says it.
[[nodiscard]] base::Result<Target> choose_target(const Project& project,
                                                 const TargetOptions& options);

}  // namespace torchport::scaffold
