// Where the bytes of private pools lie in the host's memory.
//
// Elsewhere the bytes of a tensor lie wherever the host's allocator put them. In the private pools
// of CUDA graphs and of torch.cuda.MemPool they lie as the blocks lie in their segment: programs
// that work with pools compare addresses of tensors with those of a snapshot, and graphs of one
// pool overwrite each other's memory. A segment is either host memory, which lives as long as the
// segment or anybody who uses bytes in it, or memory that the program's allocator gave.
#pragma once

#include <cstdint>
#include <optional>

#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>

namespace torchport::vdev {

// Moves the bytes of a CPU storage to where the block at `address` lies in the segment of a private
// pool. Does nothing for blocks of no private pool, and for segments that grow (expandable ones).
// Raises c10::Error if the host has no memory. Thread safe, like all functions here.
void move_to_segment(c10::DeviceIndex device, std::uint64_t address, c10::StorageImpl& twin);

// Where the bytes of the segment that begins at `address` lie; none if they do not lie side by
// side.
[[nodiscard]] std::optional<std::uint64_t> place_of_segment(c10::DeviceIndex device,
                                                            std::uint64_t address,
                                                            std::uint64_t size);

// Lets go of the memory of segments that are gone.
void forget_gone_segments(c10::DeviceIndex device);

// A capture has no effect, although its operators run: what this thread's operators overwrite in
// segments that are older than begin_journal() is put back by restore_journal().
void begin_journal();
void restore_journal();

// A segment that lies in memory of the program's allocator, until it is taken away.
void put_segment(c10::DeviceIndex device, std::uint64_t address, std::uint64_t size, void* data);
// Returns that memory.
[[nodiscard]] void* take_segment(c10::DeviceIndex device, std::uint64_t address);

}  // namespace torchport::vdev
