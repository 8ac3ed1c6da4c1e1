// What of torch differs between releases, for torchport-infer (since.h has the form).
#pragma once

#include <cstdint>

#include <ATen/DeviceAccelerator.h>

#include "runtime/torch_releases/since.h"

namespace torchport::infer {

// since 2.10: ATen/DeviceAccelerator.h has `getMemoryInfo(`
#define TORCHPORT_INFER_HAS_MEMORY_INFO TORCHPORT_TORCH_SINCE(2, 10)

struct AcceleratorMemory {
  std::uint64_t used;
  std::uint64_t total;  // 0 if torch does not tell C++
};

// The memory of an accelerator: what the device says, else what torch's allocator has taken of it.
inline AcceleratorMemory memory_of_accelerator(c10::DeviceIndex index) {
#if TORCHPORT_INFER_HAS_MEMORY_INFO
  const auto [free, total] = at::accelerator::getMemoryInfo(index);
  return {total - free, total};
#else
  const auto stats = at::accelerator::getDeviceStats(index);
  return {static_cast<std::uint64_t>(stats.reserved_bytes[0].current), 0};
#endif
}

}  // namespace torchport::infer
