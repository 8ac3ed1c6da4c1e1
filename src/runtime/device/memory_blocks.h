// The blocks and pools inside of the memory model, for the files that implement it.
#pragma once

#include <cstdint>

#include "devices/profile.h"
#include "runtime/device/memory_model.h"

namespace torchport::device {

inline constexpr std::uint64_t kSmallSize = devices::kMiB;  // largest request of the small pool

// Whether a block of this size comes from a small pool.
[[nodiscard]] inline bool is_small(std::uint64_t size) {
  return size <= kSmallSize;
}
[[nodiscard]] inline std::int64_t signed_of(std::uint64_t bytes) {
  return static_cast<std::int64_t>(bytes);
}

// A part of a segment: handed out, or free and in its pool.
struct MemoryModel::Block {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  std::int64_t stream = 0;
  Pool* pool = nullptr;
  bool allocated = false;
  bool mapped = true;            // false: addresses of an expandable segment without memory
  std::uint64_t segment = 0;     // where its expandable segment begins; 0 if it is in none
  std::uint64_t free_since = 0;  // the searches of its pool when it became free
  Block* previous = nullptr;     // in the same segment
  Block* next = nullptr;

  [[nodiscard]] bool is_split() const { return previous != nullptr || next != nullptr; }
  [[nodiscard]] bool small() const { return pool->small; }
  [[nodiscard]] bool is_expandable() const { return segment != 0; }
  // Whether a view of memory begins with it.
  [[nodiscard]] bool is_first() const {
    return mapped && (previous == nullptr || !previous->mapped);
  }
};

struct MemoryModel::PrivatePool {
  PrivatePool(PoolId number, RecyclingResource& nodes)
      : id(number), small(nodes, true, this), large(nodes, false, this) {}
  PoolId id;
  int users = 1;
  std::uint64_t segments = 0;  // that it has
  bool for_a_full_device = false;
  bool whole = false;      // its blocks are not split
  SegmentSource source{};  // empty: the device
  Pool small;
  Pool large;
};

}  // namespace torchport::device
