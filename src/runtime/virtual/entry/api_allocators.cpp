// Answers the torch._C shim about allocators that programs bring, as operators
// torch.ops.torchport.*. Functions are given by their addresses.
#include <cstdint>

#include <torch/library.h>

#include "runtime/virtual/core/program_allocators.h"
#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

namespace {

template <class Function>
Function function_at(std::int64_t address) {
  return reinterpret_cast<Function>(address);  // NOLINT(performance-no-int-to-ptr)
}

ProgramAllocator allocator_of(std::int64_t allocate, std::int64_t free,
                              std::int64_t record_stream) {
  return {function_at<ProgramAllocator::Allocate>(allocate),
          function_at<ProgramAllocator::Free>(free),
          function_at<ProgramAllocator::RecordStream>(record_stream)};
}

void replace(std::int64_t allocate, std::int64_t free, std::int64_t record_stream) {
  replace_caching_allocator(allocator_of(allocate, free, record_stream));
}

void pool_takes_from(std::int64_t device, std::int64_t first, std::int64_t second,
                     std::int64_t allocate, std::int64_t free) {
  let_pool_take_from(static_cast<c10::DeviceIndex>(device),
                     {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second)},
                     allocator_of(allocate, free, 0));
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("replace_allocator(int allocate, int free, int record_stream) -> ()", &replace);
  library.def("pool_takes_from(int device, int first, int second, int allocate, int free) -> ()",
              &pool_takes_from);
  library.def("set_caches_memory(bool caches) -> ()", &set_caches_memory);
  library.def("caches_memory() -> bool", &caches_memory);
}

}  // namespace

}  // namespace torchport::vdev
