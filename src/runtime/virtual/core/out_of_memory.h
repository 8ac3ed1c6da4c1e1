// Raises the error of a device that is full, after whoever wants to know was told
// (torch._C._cuda_attach_out_of_memory_observer).
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "devices/out_of_memory.h"

namespace torchport::vdev {

// Raises c10::OutOfMemoryError if no device of this kind could have so much: then the real
// allocator does not even try.
void check_possible(std::uint64_t bytes);

// Calls the observers, then raises c10::OutOfMemoryError with the kind's words. Thread safe; no
// lock may be held that an observer could need.
[[noreturn]] void raise_out_of_memory(const devices::OutOfMemory& failure, c10::DeviceIndex device);

}  // namespace torchport::vdev
