#include <vector>

#include <doctest/doctest.h>

#include "devices/device_kind.h"
#include "devices/profile.h"
#include "runtime/device/memory_model.h"

namespace torchport::device {
namespace {

using devices::kMiB;

constexpr PoolId kPool{0, 1};

std::uint64_t taken_on(MemoryModel& memory, std::uint64_t bytes, std::int64_t stream) {
  OutOfMemory failure;
  return memory.allocate(bytes, stream, failure).value();
}

std::int64_t count_of(const PoolStat& stat) {
  return stat.of[PoolStat::kAll].current;
}

bool is_of_stream_7(std::int64_t stream) {
  return stream == 7;
}

}  // namespace

TEST_CASE("a pool's blocks are for itself, and are given back once it has no user") {
  MemoryModel memory(kMiB, 64 * kMiB);
  CHECK_FALSE(memory.pool_users(kPool).has_value());
  REQUIRE(memory.begin_pool(kPool, &is_of_stream_7));
  CHECK_FALSE(memory.begin_pool(kPool, &is_of_stream_7));
  CHECK(memory.pool_users(kPool) == 1);
  const auto inside = taken_on(memory, 4 * kMiB, 7);
  const auto outside = taken_on(memory, 4 * kMiB, 0);
  REQUIRE(memory.end_pool(kPool));
  CHECK_FALSE(memory.end_pool(kPool));
  CHECK(count_of(memory.stats().segment) == 2);
  CHECK(memory.snapshot()[0].pool == kPool);
  CHECK(memory.snapshot()[1].pool == PoolId{});
  memory.free(inside);
  memory.free(outside);
  // Nobody else gets what is free in the pool, and it is kept.
  CHECK(taken_on(memory, 4 * kMiB, 7) != inside);
  memory.empty_cache();
  CHECK(memory.pool_state(kPool)->segments.size() == 1);
  CHECK(memory.release_pool(kPool));
  CHECK_FALSE(memory.release_pool(kPool));
  memory.empty_cache();
  CHECK_FALSE(memory.pool_state(kPool).has_value());
  CHECK(count_of(memory.stats().segment) == 1);
}

TEST_CASE("what is free in private pools is in the message of a full device") {
  MemoryModel memory(kMiB, 64 * kMiB);
  memory.begin_pool(kPool, &is_of_stream_7);
  memory.free(taken_on(memory, 40 * kMiB, 7));
  memory.end_pool(kPool);
  OutOfMemory failure;
  REQUIRE_FALSE(memory.allocate(40 * kMiB, 0, failure).has_value());
  CHECK(failure.in_private_pools == 40 * kMiB);
  const std::string text = devices::find_kind("cuda")->out_of_memory(failure, 0);
  CHECK(text.find("with 40.00 MiB allocated in private pools (e.g., CUDA Graphs), and 0 bytes") !=
        std::string::npos);
  // A pool that is for a full device gives what it has.
  memory.use_pool_when_full(kPool);
  CHECK_FALSE(memory.allocate(40 * kMiB, 0, failure).has_value());  // of another stream
  CHECK(memory.allocate(40 * kMiB, 7, failure).has_value());
}

TEST_CASE("while a pool takes, no memory is given back for it") {
  MemoryModel memory(kMiB, 64 * kMiB);
  memory.free(taken_on(memory, 40 * kMiB, 0));
  memory.begin_pool(kPool, &is_of_stream_7);
  OutOfMemory failure;
  CHECK_FALSE(memory.allocate(40 * kMiB, 7, failure).has_value());
  CHECK(memory.stats().alloc_retries == 0);
  memory.end_pool(kPool);
  CHECK(memory.allocate(40 * kMiB, 7, failure).has_value());
}

TEST_CASE("a pool without splits hands out whole segments") {
  MemoryModel memory(kMiB, 64 * kMiB);
  memory.use_pool(kPool);
  memory.keep_pool_whole(kPool);
  memory.begin_pool(kPool, &is_of_stream_7);
  taken_on(memory, 100, 7);
  CHECK(count_of(memory.stats().allocated_bytes) == static_cast<std::int64_t>(2 * kMiB));
}

TEST_CASE("a pool returns to an earlier state") {
  MemoryModel memory(kMiB, 256 * kMiB);
  memory.begin_pool(kPool, &is_of_stream_7);
  const auto first = taken_on(memory, 512, 7);
  const auto second = taken_on(memory, 1024, 7);
  const auto third = taken_on(memory, 512, 7);
  memory.free(second);
  const PoolState state = memory.pool_state(kPool).value();
  const MemoryStats before = memory.stats();
  memory.free(first);
  const auto later = taken_on(memory, 30 * kMiB, 7);
  taken_on(memory, 2048, 7);
  const auto change = memory.set_pool_state(state);
  REQUIRE(change.has_value());
  CHECK(change->allocated == std::vector{first, third});
  CHECK(change->freed.size() == 3);
  const auto again = memory.pool_state(kPool).value();
  REQUIRE(again.segments.size() == 2);  // that of `later` is free
  const std::size_t same = again.segments[0].address == state.segments[0].address ? 0 : 1;
  const SegmentView& segment = again.segments[same];
  REQUIRE(segment.blocks.size() == state.segments[0].blocks.size());
  for (std::size_t i = 0; i < state.segments[0].blocks.size(); ++i) {
    CHECK(segment.blocks[i].address == state.segments[0].blocks[i].address);
    CHECK(segment.blocks[i].size == state.segments[0].blocks[i].size);
    CHECK(segment.blocks[i].allocated == state.segments[0].blocks[i].allocated);
  }
  CHECK(count_of(memory.stats().allocated_bytes) == count_of(before.allocated_bytes));
  CHECK(count_of(memory.stats().inactive_split) == count_of(before.inactive_split));
  CHECK(count_of(memory.stats().inactive_split_bytes) == count_of(before.inactive_split_bytes));
  memory.free(later);  // it is free already
  memory.free(first);
  memory.free(third);
  memory.end_pool(kPool);
  memory.release_pool(kPool);
  memory.empty_cache();
  CHECK(count_of(memory.stats().reserved_bytes) == 0);
  CHECK(count_of(memory.stats().inactive_split) == 0);
  CHECK_FALSE(memory.set_pool_state(state).has_value());
}

TEST_CASE("sizes are rounded, and blocks left whole, as the settings say") {
  MemoryModel memory(kMiB, 1024 * kMiB);
  CHECK(memory.round_size(1) == 512);
  CHECK(memory.round_size(84 * kMiB) == 84 * kMiB);
  MemorySettings settings;
  settings.divisions = [](std::uint64_t) { return std::uint64_t{4}; };
  settings.largest_split = [] { return 40 * kMiB; };
  memory.set_settings(settings);
  // PyTorch's own test_allocator_settings: 64 MiB and 128 MiB have steps of 16 MiB between them.
  CHECK(memory.round_size(84 * kMiB) == 96 * kMiB);
  CHECK(memory.round_size(128 * kMiB) == 128 * kMiB);
  CHECK(memory.round_size(1000) == 1024);  // too small to be divided
  const auto large = taken_on(memory, 64 * kMiB, 0);
  CHECK(memory.stats().oversize_allocations.current == 1);
  CHECK(memory.stats().oversize_segments.current == 1);
  memory.free(large);
  // A small request takes no part of it, and one that is nearly as large takes all of it.
  CHECK(taken_on(memory, 20 * kMiB, 0) != large);
  CHECK(taken_on(memory, 48 * kMiB, 0) == large);
}

TEST_CASE("blocks that are not split are given back first") {
  MemoryModel memory(kMiB, 256 * kMiB);
  MemorySettings settings;
  settings.largest_split = [] { return 40 * kMiB; };
  memory.set_settings(settings);
  const auto small = taken_on(memory, 30 * kMiB, 0);
  const auto one = taken_on(memory, 60 * kMiB, 0);
  const auto two = taken_on(memory, 60 * kMiB, 0);
  for (const auto block : {small, one, two}) memory.free(block);
  taken_on(memory, 110 * kMiB, 0);
  CHECK(memory.stats().alloc_retries == 0);  // the cache was not emptied
  CHECK(count_of(memory.stats().segment) == 2);
}

}  // namespace torchport::device
