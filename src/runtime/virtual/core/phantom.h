// Memory of devices without data (`torchport run --no-data`): blocks that have an address and a
// size, and take no memory of the host.
//
// Such a block lies in a range of addresses that the process has reserved. It reads as zeros. A
// kernel that writes there, because nothing stood in for it, gets memory until the block is freed.
// A block without any address was rejected: programs and kernels of the CPU compare data_ptr(), and
// a null pointer means "no elements" to many of them.
#pragma once

#include <cstdint>

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>

namespace torchport::vdev {

// Whether the devices of this process have no data in large blocks.
[[nodiscard]] bool is_without_data();

// Whether a block of so many bytes on a device has no data.
[[nodiscard]] bool drops_data(std::uint64_t bytes);

// The memory of a block that the device's memory model has at `address`. REQUIRED: `address` is not
// 0. Raises c10::Error if the host gives no addresses. Thread safe.
[[nodiscard]] c10::DataPtr phantom_memory(c10::DeviceIndex device, std::uint64_t address,
                                          std::uint64_t bytes);

// Such memory that no block of a device has.
[[nodiscard]] c10::DataPtr phantom_memory_of_no_block(std::uint64_t bytes);

// Whether memory of the CPU's allocator type is such a block.
[[nodiscard]] bool is_phantom(const c10::DataPtr& memory);

// Notes that a kernel may write to the block, so that its memory is given back with it.
void may_be_written(const c10::DataPtr& memory, std::uint64_t bytes);

}  // namespace torchport::vdev
