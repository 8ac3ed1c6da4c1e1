// Allocators that a program brings (torch.cuda.memory.CUDAPluggableAllocator).
//
// The program gives two functions of a library that it compiled. They are called with what a real
// device's allocator would call them with, and the bytes of tensors lie in the memory that they
// return, which is host memory here. One such allocator may take the place of the caching allocator
// altogether; a torch.cuda.MemPool may get its segments from another.
#pragma once

#include <cstddef>
#include <cstdint>

#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "runtime/device/memory_model.h"

namespace torchport::vdev {

struct ProgramAllocator {
  using Allocate = void* (*)(std::size_t bytes, int device, void* stream);
  using Free = void (*)(void* data, std::size_t bytes, int device, void* stream);
  using RecordStream = void (*)(void* data, void* stream);
  Allocate allocate = nullptr;
  Free free = nullptr;
  RecordStream record_stream = nullptr;  // may be null
};

// Takes the place of the caching allocator for memory of all devices that is taken from now on.
void replace_caching_allocator(const ProgramAllocator& allocator);
// The allocator that took its place; null if none did. Thread safe.
[[nodiscard]] const ProgramAllocator* replaced_caching_allocator();

// A CPU storage of `bytes` in the memory of the program's allocator, on the current stream of a
// device. Raises c10::OutOfMemoryError if it returns none. The memory is freed with the storage.
[[nodiscard]] c10::intrusive_ptr<c10::StorageImpl> storage_of_program(
    const ProgramAllocator& allocator, c10::DeviceIndex device, std::size_t bytes);
// Moves the bytes of a CPU storage into such memory.
void move_to_program(const ProgramAllocator& allocator, c10::DeviceIndex device,
                     c10::StorageImpl& twin);

// Whether memory comes from the caching allocator at all (torch.cuda.caching_allocator_enable,
// PYTORCH_NO_CUDA_MEMORY_CACHING). Thread safe.
[[nodiscard]] bool caches_memory();
void set_caches_memory(bool caches);

// Lets a pool of a device take its segments from an allocator.
void let_pool_take_from(c10::DeviceIndex device, device::PoolId pool,
                        const ProgramAllocator& allocator);

}  // namespace torchport::vdev
