#include <array>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "devices/profile.h"
#include "runtime/device/memory_model.h"

namespace torchport::device {
namespace {

using devices::kMiB;

MemorySettings growing() {
  MemorySettings settings;
  settings.expandable = [] { return true; };
  return settings;
}

std::uint64_t grown_by(MemoryModel& memory, std::uint64_t bytes, std::int64_t stream = 0) {
  OutOfMemory failure;
  return memory.allocate(bytes, stream, failure).value();
}

std::int64_t total_of(const PoolStat& stat) {
  return stat.of[PoolStat::kAll].current;
}

}  // namespace

// The figures of an NVIDIA H200 with torch 2.11 (tests/fidelity, memory/settings).
TEST_CASE("an expandable segment grows in pieces, and is no segment in the account") {
  MemoryModel memory(kMiB, 1024 * kMiB);
  memory.set_settings(growing());
  const std::array<std::uint64_t, 6> sizes{700,       kMiB + 1,  5 * kMiB,
                                           11 * kMiB, 30 * kMiB, 50 * kMiB + 1};
  const std::array<std::int64_t, 6> reserved{2097152,  23068672, 23068672,
                                             23068672, 65011712, 106954752};
  const std::array<std::int64_t, 6> allocated{1024,     1050112,  6292992,
                                              17827328, 49284608, 101713920};
  std::vector<std::uint64_t> blocks;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    blocks.push_back(grown_by(memory, sizes.at(i)));
    CHECK(total_of(memory.stats().reserved_bytes) == reserved.at(i));
    CHECK(total_of(memory.stats().allocated_bytes) == allocated.at(i));
  }
  CHECK(total_of(memory.stats().segment) == 0);
  CHECK(memory.snapshot().size() == 2);
  for (const std::size_t i : {0U, 2U, 4U}) memory.free(blocks[i]);
  CHECK(total_of(memory.stats().allocated_bytes) == 65012736);
  grown_by(memory, 21 * kMiB);
  CHECK(total_of(memory.stats().allocated_bytes) == 87032832);
  CHECK(total_of(memory.stats().reserved_bytes) == 106954752);
  memory.empty_cache();
  CHECK(total_of(memory.stats().reserved_bytes) == 104857600);
}

TEST_CASE("pieces are unmapped in the middle, and mapped again first") {
  MemoryModel memory(kMiB, 1024 * kMiB);
  memory.set_settings(growing());
  const auto first = grown_by(memory, 20 * kMiB);
  const auto middle = grown_by(memory, 60 * kMiB);
  const auto last = grown_by(memory, 20 * kMiB);
  CHECK(middle == first + 20 * kMiB);
  CHECK(last == middle + 60 * kMiB);
  memory.free(middle);
  memory.empty_cache();
  CHECK(total_of(memory.stats().reserved_bytes) == static_cast<std::int64_t>(40 * kMiB));
  CHECK(memory.snapshot().size() == 2);
  CHECK(grown_by(memory, 45 * kMiB) == middle);
  CHECK(total_of(memory.stats().reserved_bytes) == static_cast<std::int64_t>(100 * kMiB));
  // What is left of the last piece is free, and blocks of 512 bytes come from it.
  CHECK(grown_by(memory, 2 * kMiB) == middle + 45 * kMiB);
  memory.free(first);
  memory.free(last);
  CHECK(total_of(memory.stats().inactive_split) == 0);
}

TEST_CASE("an expandable segment without memory is gone, and a full device says so") {
  MemoryModel memory(kMiB, 100 * kMiB);
  memory.set_settings(growing());
  memory.free(grown_by(memory, 90 * kMiB));
  CHECK(memory.snapshot().size() == 1);
  OutOfMemory failure;
  // The free block grows, but only by what the device has.
  CHECK_FALSE(memory.allocate(110 * kMiB, 0, failure).has_value());
  CHECK(failure.requested == 110 * kMiB);
  CHECK(memory.stats().ooms == 1);
  memory.empty_cache();
  CHECK(memory.snapshot().empty());
  CHECK(total_of(memory.stats().reserved_bytes) == 0);
  // Another stream's memory is its own.
  const auto other = grown_by(memory, 30 * kMiB, 7);
  CHECK(grown_by(memory, 30 * kMiB) != other + 30 * kMiB);
}

TEST_CASE("segments of both kinds live side by side") {
  MemoryModel memory(kMiB, 1024 * kMiB);
  const auto plain = grown_by(memory, 30 * kMiB);
  memory.set_settings(growing());
  const auto grown = grown_by(memory, 30 * kMiB);
  memory.free(grown);
  memory.set_settings({});
  // Blocks of expandable segments serve no longer.
  CHECK(grown_by(memory, 30 * kMiB) != grown);
  memory.free(plain);
  memory.empty_cache();
  CHECK(total_of(memory.stats().reserved_bytes) == static_cast<std::int64_t>(30 * kMiB));
  CHECK(total_of(memory.stats().segment) == 1);
}

}  // namespace torchport::device
