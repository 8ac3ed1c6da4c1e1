// Replaces the CPU allocator of a process with virtual devices: large blocks come from a pool
// (runtime/device/host_pool.h says why), small ones from torch's own allocator.
#pragma once

namespace torchport::vdev {

// Replaces torch's CPU allocator. Call it once, before any tensor exists.
void install_host_allocator();

// Returns the memory that the pool keeps to the system.
void release_host_memory();

}  // namespace torchport::vdev
