// Replaces the CPU allocator of a process with virtual devices: large blocks come from a pool
// (runtime/device/host_pool.h says why), small ones from torch's own allocator.
#pragma once

namespace torchport::vdev {

// Replaces torch's CPU allocator. Call it once, before any tensor exists.
void install_host_allocator();

// Returns the memory that the pool keeps to the system.
void release_host_memory();

// While such an object lives, the host memory that this thread takes and gives back holds what lies
// on a device: profilers of memory are not told of it. They are told of the device's own blocks
// (storage.cpp), as on a real device.
class HostMemoryOfDevice {
 public:
  HostMemoryOfDevice();
  ~HostMemoryOfDevice();
  HostMemoryOfDevice(const HostMemoryOfDevice&) = delete;
  HostMemoryOfDevice& operator=(const HostMemoryOfDevice&) = delete;
  HostMemoryOfDevice(HostMemoryOfDevice&&) = delete;
  HostMemoryOfDevice& operator=(HostMemoryOfDevice&&) = delete;
};

}  // namespace torchport::vdev
