// The CPU allocator of a process with virtual devices: large blocks out of a pool (see
// runtime/device/host_pool.h), small ones as ever.
#pragma once

namespace torchport::vdev {

// Takes the place of torch's own CPU allocator; once, before tensors are made.
void install_host_allocator();

// What the pool keeps for later goes back to the system.
void release_host_memory();

}  // namespace torchport::vdev
