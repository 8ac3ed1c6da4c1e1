// The groups themselves, and how they are partitioned.
#pragma once

#include <type_traits>
#include <utility>

#include "torchport/group_lanes.h"
#include "torchport/large_tiles.h"

namespace cooperative_groups {

namespace details = torchport::cuda;

template <unsigned Size, class Parent>
class thread_block_tile;
class coalesced_group;

// All threads of the block.
class thread_block {
 public:
  static void sync() { details::wait_for_block({"sync() of a thread_block", "", 0}); }
  static unsigned thread_rank() { return details::thread_number(); }
  static dim3 group_index() {
    const uint3 at = details::block_index();
    return dim3(at.x, at.y, at.z);
  }
  static dim3 thread_index() {
    const uint3 at = details::thread_index();
    return dim3(at.x, at.y, at.z);
  }
  static dim3 group_dim() { return details::block_size(); }
  static dim3 dim_threads() { return details::block_size(); }
  static unsigned num_threads() { return details::threads_of_block(); }
  static unsigned size() { return num_threads(); }
  class arrival_token {};
  static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(arrival_token&& /*token*/) { sync(); }
};
inline thread_block this_thread_block() {
  return {};
}
// What tiles of several warps need on a GPU. Virtual devices have other memory for that.
template <unsigned MostThreads = 1024>
struct block_tile_memory {
 private:
  alignas(16) char bytes_[MostThreads / 32 * 16];
};
template <unsigned MostThreads>
thread_block this_thread_block(block_tile_memory<MostThreads>& /*memory*/) {
  return {};
}

// All threads of a cooperative launch.
class grid_group {
 public:
  static bool is_valid() { return details::is_cooperative(); }
  static void sync() { details::wait_for_grid({"sync() of a grid_group", "", 0}); }
  static dim3 dim_blocks() { return details::grid_size(); }
  static dim3 group_dim() { return details::grid_size(); }
  static dim3 block_index() {
    const uint3 at = details::block_index();
    return dim3(at.x, at.y, at.z);
  }
  static unsigned long long block_rank() {
    const uint3 at = details::block_index();
    const dim3 size = details::grid_size();
    return at.x + static_cast<unsigned long long>(size.x) *
                      (at.y + static_cast<unsigned long long>(size.y) * at.z);
  }
  static unsigned long long num_blocks() {
    const dim3 size = details::grid_size();
    return static_cast<unsigned long long>(size.x) * size.y * size.z;
  }
  static unsigned long long num_threads() { return num_blocks() * details::threads_of_block(); }
  static unsigned long long size() { return num_threads(); }
  static unsigned long long thread_rank() {
    return block_rank() * details::threads_of_block() + details::thread_number();
  }
  class arrival_token {};
  static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(arrival_token&& /*token*/) { sync(); }
};
inline grid_group this_grid() {
  return {};
}

// A cluster of one block: virtual devices run no larger ones.
class cluster_group {
 public:
  static void sync() { thread_block::sync(); }
  static void barrier_arrive() {}
  static void barrier_wait() { thread_block::sync(); }
  static unsigned block_rank() { return 0; }
  static unsigned num_blocks() { return 1; }
  static dim3 block_index() { return dim3(0, 0, 0); }
  static dim3 dim_blocks() { return dim3(1, 1, 1); }
  static dim3 thread_index() { return thread_block::thread_index(); }
  static unsigned thread_rank() { return details::thread_number(); }
  static unsigned num_threads() { return details::threads_of_block(); }
  static unsigned size() { return num_threads(); }
  template <class T>
  static T* map_shared_rank(T* address, unsigned /*rank*/) {
    return address;
  }
  static unsigned query_shared_rank(const void* /*address*/) { return 0; }
};
inline cluster_group this_cluster() {
  return {};
}

// Threads of a warp that were active together, or a part of them.
class coalesced_group : public details::LaneGroup<coalesced_group> {
 public:
  explicit coalesced_group(unsigned lanes, unsigned rank = 0, unsigned count = 1)
      : lanes_(lanes), rank_(rank), count_(count) {}
  unsigned lanes() const { return lanes_; }
  unsigned num_threads() const { return details::count_lanes(lanes_); }
  unsigned size() const { return num_threads(); }
  unsigned meta_group_rank() const { return rank_; }
  unsigned meta_group_size() const { return count_; }

 private:
  unsigned lanes_;
  unsigned rank_;
  unsigned count_;
};
__attribute__((noinline)) inline coalesced_group coalesced_threads() {
  return coalesced_group(details::active_lanes(__builtin_return_address(0)));
}

// A part of a block, of a size that the compiler knows.
template <unsigned Size, class Parent, bool IsLarge>
class TileOfBlock : public details::LaneGroup<TileOfBlock<Size, Parent, IsLarge>> {
 public:
  static unsigned lanes() {
    const unsigned first = details::lane_of_thread() & ~(Size - 1);
    return static_cast<unsigned>(((1ULL << Size) - 1) << first);
  }
  static unsigned thread_rank() { return details::thread_number() & (Size - 1); }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned meta_group_rank() { return details::thread_number() / Size; }
  static unsigned meta_group_size() { return (details::threads_of_block() + Size - 1) / Size; }
};
template <unsigned Size, class Parent>
class TileOfBlock<Size, Parent, true> : public details::LargeTile<Size> {};

template <unsigned Size, class Parent = void>
class thread_block_tile : public TileOfBlock<Size, Parent, (Size > 32)> {
  static_assert(Size > 0 && Size <= 1024 && (Size & (Size - 1)) == 0,
                "the size of a tile is a power of two, 1024 at most");

 public:
  thread_block_tile() = default;
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other>& /*other*/) {}
};

// Any group, when the compiler does not know which.
class thread_group {
 public:
  thread_group(thread_block /*block*/) : kind_(Kind::kBlock) {}
  thread_group(const coalesced_group& group)
      : kind_(Kind::kLanes),
        lanes_(group.lanes()),
        rank_(group.meta_group_rank()),
        count_(group.meta_group_size()) {}
  template <unsigned Size, class Parent>
  thread_group(const thread_block_tile<Size, Parent>& tile)
      : kind_(Kind::kLanes),
        lanes_(tile.lanes()),
        rank_(tile.meta_group_rank()),
        count_(tile.meta_group_size()) {}
  void sync() const {
    if (kind_ == Kind::kBlock)
      thread_block::sync();
    else
      as_lanes().sync();
  }
  unsigned thread_rank() const {
    return kind_ == Kind::kBlock ? thread_block::thread_rank() : as_lanes().thread_rank();
  }
  unsigned num_threads() const {
    return kind_ == Kind::kBlock ? thread_block::num_threads() : as_lanes().num_threads();
  }
  unsigned size() const { return num_threads(); }
  bool is_block() const { return kind_ == Kind::kBlock; }
  coalesced_group as_lanes() const { return coalesced_group(lanes_, rank_, count_); }
  template <class T>
  T shfl(T value, unsigned rank) const {
    return as_lanes().shfl(value, rank);
  }
  unsigned meta_group_rank() const { return rank_; }
  unsigned meta_group_size() const { return count_; }

 private:
  enum class Kind { kBlock, kLanes } kind_;
  unsigned lanes_ = 0;
  unsigned rank_ = 0;
  unsigned count_ = 1;
};

// ---- partitions ----

template <unsigned Size>
thread_block_tile<Size, thread_block> tiled_partition(const thread_block& /*block*/) {
  return {};
}
template <unsigned Size, unsigned Larger, class Parent>
auto tiled_partition(const thread_block_tile<Larger, Parent>& /*tile*/) {
  struct Part : thread_block_tile<Size, thread_block_tile<Larger, Parent>> {
    static unsigned meta_group_rank() { return (details::thread_number() & (Larger - 1)) / Size; }
    static unsigned meta_group_size() { return Larger / Size; }
  };
  return Part{};
}
// The lanes whose ranks, divided by `size`, are equal.
inline coalesced_group tiled_partition(const coalesced_group& group, unsigned size) {
  const unsigned rank = group.thread_rank();
  const unsigned first = rank / size * size;
  unsigned lanes = 0;
  for (unsigned i = first; i < first + size; ++i) {
    const unsigned lane = details::lane_of_rank(group.lanes(), i);
    if (lane < 32) lanes |= 1U << lane;
  }
  return coalesced_group(lanes, rank / size, (group.num_threads() + size - 1) / size);
}
template <unsigned Size>
coalesced_group tiled_partition(const coalesced_group& group) {
  return tiled_partition(group, Size);
}
inline thread_group tiled_partition(const thread_group& group, unsigned size) {
  if (!group.is_block()) return tiled_partition(group.as_lanes(), size);
  const unsigned first = details::lane_of_thread() / size * size;
  const unsigned lanes = static_cast<unsigned>(((1ULL << size) - 1) << first);
  return coalesced_group(lanes, details::thread_number() / size,
                         (details::threads_of_block() + size - 1) / size);
}

// The lanes that have the same label; groups are numbered by their first lanes.
template <class Label, class Group>
coalesced_group labeled_partition(const Group& group, Label label) {
  const unsigned mask = group.lanes();
  struct Left {
    unsigned lane;
    Label label;
  };
  Left mine{};
  mine.lane = 1U << details::lane_of_thread();
  mine.label = label;
  const auto* all = static_cast<const char*>(
      details::exchange(mask, &mine, sizeof(mine), {"labeled_partition", "", 0}));
  unsigned lanes = 0;
  unsigned rank = 0;
  unsigned count = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    Left left;
    std::memcpy(static_cast<void*>(&left), all + lane * sizeof(Left), sizeof(Left));
    bool is_first = true;
    for (unsigned before = 0; before < lane && is_first; ++before) {
      if ((mask >> before & 1U) == 0) continue;
      Left other;
      std::memcpy(static_cast<void*>(&other), all + before * sizeof(Left), sizeof(Left));
      is_first = !(other.label == left.label);
    }
    if (left.label == label) {
      if (is_first) rank = count;
      lanes |= 1U << lane;
    }
    if (is_first) ++count;
  }
  return coalesced_group(lanes, rank, count);
}
template <class Group>
coalesced_group binary_partition(const Group& group, bool predicate) {
  const coalesced_group found = labeled_partition(group, predicate);
  return coalesced_group(found.lanes(), predicate ? 1 : 0, 2);
}

template <class Group>
void sync(const Group& group) {
  group.sync();
}
template <class Group, class Function, class... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0)
    std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
}
template <class Group, class Function, class... Arguments>
auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments) {
  decltype(function(std::forward<Arguments>(arguments)...)) result{};
  if (group.thread_rank() == 0)
    result = std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
  return group.shfl(result, 0);
}

}  // namespace cooperative_groups
