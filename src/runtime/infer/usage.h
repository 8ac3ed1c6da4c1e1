// Measures how busy a device is and how much of its memory is used. The source is NVML if there is
// one, otherwise torch's own account of an accelerator (also for virtual devices), or the host's
// figures for the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

namespace torchport::infer {

struct Usage {
  std::optional<double> busy;  // 0 to 1, since the last look(); none if nothing can tell
  std::uint64_t used = 0;      // in bytes; for the CPU, those of this program
  std::uint64_t total = 0;     // 0 if nothing can tell
};

class UsageSource {
 public:
  virtual ~UsageSource() = default;
  [[nodiscard]] virtual Usage look() = 0;
};

// The best available source for a device.
[[nodiscard]] std::unique_ptr<UsageSource> usage_of(c10::Device device);

// NVML as the source; null if there is no NVML or it does not know the device.
[[nodiscard]] std::unique_ptr<UsageSource> nvml_usage(c10::DeviceIndex index);

}  // namespace torchport::infer
