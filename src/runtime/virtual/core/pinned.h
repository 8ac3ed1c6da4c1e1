// Provides pinned host memory for virtual devices: ordinary host memory whose addresses are
// remembered, so that is_pinned() and the statistics answer as on a real device.
#pragma once

#include <c10/core/Allocator.h>

#include "runtime/device/memory_model.h"

namespace torchport::vdev {

// The statistics that torch.cuda.host_memory_stats() reports. As in
// ATen/core/CachingHostAllocator.h, sizes are powers of two, and a freed block is kept for the next
// request of its size.
struct PinnedStats {
  device::Stat blocks;  // active or kept
  device::Stat bytes;
  device::Stat active_blocks;
  device::Stat active_bytes;
};

// Makes it the host allocator of the process's device kind.
void register_pinned();

// All functions below are thread safe.
[[nodiscard]] c10::Allocator* pinned_allocator();
// Whether the address lies in a block of the pinned allocator.
[[nodiscard]] bool is_pinned(const void* address);
[[nodiscard]] PinnedStats pinned_stats();
// Resets the peaks if `peak` is true, otherwise the accumulated sums.
void reset_pinned_stats(bool peak);
void empty_pinned_cache();

}  // namespace torchport::vdev
