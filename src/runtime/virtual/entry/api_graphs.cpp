// Answers the torch._C shim about captures of CUDA graphs and private pools of memory, as operators
// torch.ops.torchport.*.
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>
#include <torch/library.h>

#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/pool_memory.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

namespace {

using device::PoolId;

c10::DeviceIndex as_index(std::int64_t device) {
  return static_cast<c10::DeviceIndex>(device < 0 ? current_device() : device);
}

device::MemoryModel& memory_with_pools(std::int64_t device) {
  return Runtime::get().memory(as_index(device));
}

PoolId pool_of(std::int64_t first, std::int64_t second) {
  return {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second)};
}

void begin_pool(std::int64_t device, PoolId id, device::TakesFrom takes) {
  TORCH_CHECK(memory_with_pools(device).begin_pool(id, std::move(takes)),
              "beginAllocateToPool: already recording to mempool_id");
}

// Begins a capture on the current stream, whose memory comes from a pool.
void begin_on_current_stream(std::int64_t mode, std::int64_t first, std::int64_t second) {
  const c10::DeviceIndex device = current_device();
  const auto capture =
      begin_capture(device, current_stream(device), static_cast<CaptureMode>(mode));
  try {
    begin_pool(device, pool_of(first, second), [capture, device](std::int64_t stream) {
      return captures(*capture, device, stream);
    });
  } catch (...) {
    static_cast<void>(end_capture(capture));
    throw;
  }
}

// Whether what was captured is valid.
bool end_on(std::int64_t device, std::int64_t stream, std::int64_t first, std::int64_t second) {
  static_cast<void>(memory_with_pools(device).end_pool(pool_of(first, second)));
  const auto capture = capture_of(static_cast<c10::DeviceIndex>(device), stream);
  return capture && end_capture(capture);
}

// `whose`: "thread" for what this thread allocates, "stream" for the current stream, "captures" for
// all streams that are captured.
void begin_pool_for(std::int64_t device, std::int64_t first, std::int64_t second,
                    const std::string& whose) {
  const c10::DeviceIndex index = as_index(device);
  device::TakesFrom takes;
  if (whose == "thread") {
    takes = [self = std::this_thread::get_id()](std::int64_t) {
      return std::this_thread::get_id() == self;
    };
  } else if (whose == "stream") {
    takes = [own = current_stream(index)](std::int64_t stream) { return stream == own; };
  } else {
    takes = [index](std::int64_t stream) { return capture_of(index, stream) != nullptr; };
  }
  begin_pool(device, pool_of(first, second), std::move(takes));
}

void end_pool(std::int64_t device, std::int64_t first, std::int64_t second) {
  TORCH_CHECK(memory_with_pools(device).end_pool(pool_of(first, second)),
              "endAllocatePool: not currently recording to mempool_id");
}

void use_pool(std::int64_t device, std::int64_t first, std::int64_t second, bool when_full,
              bool whole) {
  const PoolId id = pool_of(first, second);
  memory_with_pools(device).use_pool(id);
  if (when_full) memory_with_pools(device).use_pool_when_full(id);
  if (whole) memory_with_pools(device).keep_pool_whole(id);
}

void release_pool(std::int64_t device, std::int64_t first, std::int64_t second) {
  TORCH_CHECK(memory_with_pools(device).release_pool(pool_of(first, second)),
              "Could not find pool of id");
}

std::int64_t pool_users(std::int64_t device, std::int64_t first, std::int64_t second) {
  const auto users = memory_with_pools(device).pool_users(pool_of(first, second));
  TORCH_CHECK(users.has_value(), "Could not find pool of id");
  return *users;
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("begin_capture(int mode, int first, int second) -> ()", &begin_on_current_stream);
  library.def("end_capture(int device, int stream, int first, int second) -> bool", &end_on);
  library.def("is_capturing() -> bool", &is_capturing_graph);
  library.def("set_replaying(bool replaying) -> ()", &set_replaying);
  library.def("begin_pool(int device, int first, int second, str whose) -> ()", &begin_pool_for);
  library.def("end_pool(int device, int first, int second) -> ()", &end_pool);
  library.def("use_pool(int device, int first, int second, bool when_full, bool whole) -> ()",
              &use_pool);
  library.def("release_pool(int device, int first, int second) -> ()", &release_pool);
  library.def("pool_users(int device, int first, int second) -> int", &pool_users);
  library.def("begin_journal() -> ()", &begin_journal);
  library.def("restore_journal() -> ()", &restore_journal);
  library.def("empty_pool(int device, int first, int second) -> ()",
              [](std::int64_t device, std::int64_t first, std::int64_t second) {
                memory_with_pools(device).empty_cache(pool_of(first, second));
                forget_gone_segments(as_index(device));
              });
}

}  // namespace

}  // namespace torchport::vdev
