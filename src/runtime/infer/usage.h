// How busy a device is and how full: from NVML where there is one, from torch's own account of an
// accelerator (of virtual devices, too), or from the host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

namespace torchport::infer {

struct Usage {
  std::optional<double> busy;  // since the last look, 0 to 1; none where nothing can tell
  std::uint64_t used = 0;      // bytes; of the CPU, this program's
  std::uint64_t total = 0;
};

class UsageSource {
 public:
  virtual ~UsageSource() = default;
  [[nodiscard]] virtual Usage look() = 0;
};

// The best source there is for a device.
[[nodiscard]] std::unique_ptr<UsageSource> usage_of(c10::Device device);

// NVML's; nothing where there is no NVML, or it does not know the device.
[[nodiscard]] std::unique_ptr<UsageSource> nvml_usage(c10::DeviceIndex index);

}  // namespace torchport::infer
