#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "devices/profile.h"
#include "runtime/device/memory_model.h"

namespace torchport::device {
namespace {

using devices::kMiB;

std::uint64_t got(MemoryModel& memory, std::uint64_t bytes) {
  OutOfMemory failure;
  return memory.allocate(bytes, 0, failure).value();
}

std::uint64_t reserved(const MemoryModel& memory) {
  return static_cast<std::uint64_t>(memory.stats().reserved_bytes.of[PoolStat::kAll].current);
}

std::uint64_t allocated(const MemoryModel& memory) {
  return static_cast<std::uint64_t>(memory.stats().allocated_bytes.of[PoolStat::kAll].current);
}

}  // namespace

TEST_CASE("segments that were unused for long are given back first") {
  MemoryModel memory(kMiB, 1000 * kMiB);
  MemorySettings settings;
  settings.collect_from = [] { return 0.2; };
  memory.set_settings(settings);
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(got(memory, 30 * kMiB));
  memory.set_fraction(1);
  memory.free(blocks[0]);  // ages are counted in searches from here on
  got(memory, 12 * kMiB);
  memory.free(blocks[1]);
  got(memory, 60 * kMiB);
  CHECK(reserved(memory) == 210 * kMiB);  // 12 MiB were a part of the first block
  memory.free(blocks[2]);
  memory.free(blocks[3]);
  got(memory, 70 * kMiB);
  // 10 MiB are too much: the block goes that was unused for longer than the others.
  CHECK(reserved(memory) == (210 - 30 + 70) * kMiB);
  got(memory, 80 * kMiB);
  CHECK(reserved(memory) == (250 - 60 + 80) * kMiB);  // 50 MiB are; both are as old
  CHECK(memory.stats().alloc_retries == 0);
}

TEST_CASE("nothing is collected unless the part of the process was set") {
  MemoryModel memory(kMiB, 100 * kMiB);
  MemorySettings settings;
  settings.collect_from = [] { return 0.1; };
  memory.set_settings(settings);
  memory.free(got(memory, 30 * kMiB));
  got(memory, 40 * kMiB);
  CHECK(reserved(memory) == 70 * kMiB);
}

TEST_CASE("memory that is not managed is missing on the device and in no statistics") {
  MemoryModel memory(kMiB, 100 * kMiB);
  const auto one = memory.allocate_unmanaged(40 * kMiB + 1);
  REQUIRE(one.has_value());
  CHECK(memory.device_free() == 60 * kMiB - 512);
  CHECK(reserved(memory) == 0);
  CHECK_FALSE(memory.allocate_unmanaged(60 * kMiB).has_value());
  OutOfMemory failure;
  CHECK_FALSE(memory.allocate(60 * kMiB, 0, failure).has_value());
  CHECK(failure.free == 60 * kMiB - 512);
  memory.free(*one);
  memory.free(*one);  // it is free already
  CHECK(memory.device_free() == 100 * kMiB);
  CHECK(memory.allocate_unmanaged(0) == 0);
}

TEST_CASE("the driver's pool keeps its memory until the cache is emptied") {
  MemoryModel memory(kMiB, 100 * kMiB);
  memory.use_drivers_pool();
  const auto small = got(memory, 100);
  CHECK(allocated(memory) == 512);
  CHECK(reserved(memory) == 32 * kMiB);
  const auto large = got(memory, 40 * kMiB);
  CHECK(reserved(memory) == 64 * kMiB);
  memory.free(large);
  CHECK(allocated(memory) == 512);
  CHECK(reserved(memory) == 64 * kMiB);
  CHECK(memory.stats().allocation.of[PoolStat::kAll].current == 0);
  memory.empty_cache();
  CHECK(reserved(memory) == 32 * kMiB);
  OutOfMemory failure;
  CHECK_FALSE(memory.allocate(100 * kMiB, 0, failure).has_value());
  CHECK(failure.allocated == 100);
  got(memory, 99 * kMiB);  // the last piece is cut short by the end of the device
  CHECK(reserved(memory) == 100 * kMiB);
  memory.free(small);
  memory.set_fraction(0.5);
  CHECK_FALSE(memory.allocate(1, 0, failure).has_value());
  CHECK(failure.allowed == 50 * kMiB);
}

TEST_CASE("a pool may take its segments from elsewhere") {
  MemoryModel memory(kMiB, 10 * kMiB);
  constexpr PoolId kOfElsewhere{0, 1};
  memory.begin_pool(kOfElsewhere, [](std::int64_t) { return true; });
  std::vector<std::uint64_t> taken;
  std::vector<std::uint64_t> given;
  memory.let_pool_take_from(kOfElsewhere, {[&](std::uint64_t, std::uint64_t size, std::int64_t) {
                                             if (size > 20 * kMiB) return false;
                                             taken.push_back(size);
                                             return true;
                                           },
                                           [&](std::uint64_t, std::uint64_t size, std::int64_t) {
                                             given.push_back(size);
                                           }});
  const auto small = got(memory, 1000);
  const auto large = got(memory, 5 * kMiB);  // more than the device has
  CHECK(taken == std::vector{2 * kMiB, 20 * kMiB});
  CHECK(memory.pool_of(small) == kOfElsewhere);
  OutOfMemory failure;
  CHECK_FALSE(memory.allocate(30 * kMiB, 0, failure).has_value());
  memory.free(small);
  memory.free(large);
  CHECK_FALSE(memory.pool_of(small).has_value());
  memory.end_pool(kOfElsewhere);
  memory.empty_cache();
  CHECK(given.empty());
  memory.release_pool(kOfElsewhere);
  memory.empty_cache();
  CHECK(given.size() == 2);
}

}  // namespace torchport::device
