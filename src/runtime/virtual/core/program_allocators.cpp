#include "runtime/virtual/core/program_allocators.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "runtime/virtual/core/pool_memory.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

namespace {

using c10::StorageImpl;

std::atomic<const ProgramAllocator*> replacement{nullptr};
std::atomic<bool> caching{true};

void* handle_of(std::int64_t stream) {
  return reinterpret_cast<void*>(stream);  // NOLINT(performance-no-int-to-ptr)
}

// What the program's function for freeing is called with.
struct Taken {
  ProgramAllocator from;
  void* data;
  std::size_t bytes;
  c10::DeviceIndex device;
  void* stream;
};

void give_to_program(void* context) {
  const std::unique_ptr<Taken> taken(static_cast<Taken*>(context));
  taken->from.free(taken->data, taken->bytes, taken->device, taken->stream);
}

c10::DataPtr take_from_program(const ProgramAllocator& from, c10::DeviceIndex device,
                               std::size_t bytes) {
  void* stream = handle_of(current_stream(device));
  void* data = from.allocate(bytes, device, stream);
  TORCH_CHECK_WITH(OutOfMemoryError, data != nullptr || bytes == 0,
                   "torchport: the program's allocator returned no memory for ", bytes,
                   " bytes. A real device would go on with the null pointer.");
  auto taken = std::make_unique<Taken>(Taken{from, data, bytes, device, stream});
  return {data, taken.release(), &give_to_program, c10::Device(c10::DeviceType::CPU)};
}

}  // namespace

bool caches_memory() {
  static const bool kForbidden =
      std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  return caching.load(std::memory_order_relaxed) && !kForbidden;
}

void set_caches_memory(bool caches) {
  caching = caches;
}

void replace_caching_allocator(const ProgramAllocator& allocator) {
  replacement = new ProgramAllocator(allocator);  // tensors may outlive everything
}

const ProgramAllocator* replaced_caching_allocator() {
  return replacement.load(std::memory_order_relaxed);
}

c10::intrusive_ptr<StorageImpl> storage_of_program(const ProgramAllocator& allocator,
                                                   c10::DeviceIndex device, std::size_t bytes) {
  return c10::make_intrusive<StorageImpl>(
      StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(bytes),
      take_from_program(allocator, device, bytes), c10::GetCPUAllocator(), true);
}

void move_to_program(const ProgramAllocator& allocator, c10::DeviceIndex device,
                     StorageImpl& twin) {
  c10::DataPtr memory = take_from_program(allocator, device, twin.nbytes());
  if (twin.nbytes() > 0) std::memcpy(memory.get(), twin.data(), twin.nbytes());
  twin.set_data_ptr_noswap(std::move(memory));
}

void let_pool_take_from(c10::DeviceIndex device, device::PoolId pool,
                        const ProgramAllocator& allocator) {
  const auto take = [=](std::uint64_t address, std::uint64_t size, std::int64_t stream) {
    void* data = allocator.allocate(size, device, handle_of(stream));
    if (data == nullptr) return false;
    put_segment(device, address, size, data);
    return true;
  };
  const auto give = [=](std::uint64_t address, std::uint64_t size, std::int64_t stream) {
    void* data = take_segment(device, address);
    allocator.free(data, size, device, handle_of(stream));
  };
  Runtime::get().memory(device).let_pool_take_from(pool, {take, give});
}

}  // namespace torchport::vdev
