// Measures how busy a device is, how much of its memory is used, and by which processes.
//
// One look is cheap, and a source is asked again and again: `torchport top` and `torchport infer
// --watch` draw what it says. It needs no torch, because any program can be watched.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/file_system.h"

namespace torchport::host {

struct Usage {
  std::optional<double> busy;  // 0 to 1, since the last look(); none if nothing can tell
  std::uint64_t used = 0;      // bytes
  std::uint64_t total = 0;     // bytes; 0 if nothing can tell
  std::map<pid_t, std::uint64_t> processes;  // bytes of each process that uses it, as far as known
};

class UsageSource {
 public:
  virtual ~UsageSource() = default;
  // REQUIRED: calls on one source do not overlap.
  [[nodiscard]] virtual Usage look() = 0;
};

struct WatchedDevice {
  std::string name;   // "cuda:0", as torch names it; "cpu"
  std::string model;  // "NVIDIA A100-SXM4-80GB"; empty if nothing can tell
  std::unique_ptr<UsageSource> source;
};

// The machine's GPUs, by the driver's numbers, and its CPU, which comes last. For the CPU, memory
// is that of the whole machine.
[[nodiscard]] std::vector<WatchedDevice> devices_to_watch();

// The CPU, with the memory of this process, or with that of the whole machine.
enum class HostMemory : std::uint8_t { kOfThisProcess, kOfTheMachine };
[[nodiscard]] std::unique_ptr<UsageSource> host_usage(HostMemory memory);

// NVML's figures for the device that torch calls cuda:`index` in this process; null if there is no
// NVML or it does not know the device.
[[nodiscard]] std::unique_ptr<UsageSource> nvml_usage(int index);
// All GPUs that NVML knows, whatever CUDA_VISIBLE_DEVICES says.
[[nodiscard]] std::vector<WatchedDevice> nvml_devices();

// AMD's GPUs by the figures of their kernel driver, amdgpu, in /sys/class/drm. `files` outlives the
// sources.
[[nodiscard]] std::vector<WatchedDevice> amd_devices(const base::FileSystem& files);

}  // namespace torchport::host
