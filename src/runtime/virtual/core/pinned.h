// Pinned host memory: plain host memory that is known by its address.
#pragma once

#include <c10/core/Allocator.h>

#include "runtime/device/memory_model.h"

namespace torchport::vdev {

// As torch.cuda.host_memory_stats() reports them: sizes are powers of two, and a block that was
// freed is kept for the next of its size, as ATen/core/CachingHostAllocator.h does.
struct PinnedStats {
  device::Stat blocks;  // active or kept
  device::Stat bytes;
  device::Stat active_blocks;
  device::Stat active_bytes;
};

// Makes it the host allocator of this kind of device.
void register_pinned();

// All thread-safe.
[[nodiscard]] c10::Allocator* pinned_allocator();
// Whether the address lies in a block of the pinned allocator.
[[nodiscard]] bool is_pinned(const void* address);
[[nodiscard]] PinnedStats pinned_stats();
// Of the peaks, or of all that was ever added and taken away.
void reset_pinned_stats(bool peak);
void empty_pinned_cache();

}  // namespace torchport::vdev
