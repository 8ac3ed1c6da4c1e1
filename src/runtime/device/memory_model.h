// The memory of one virtual device, by the rules of PyTorch's CUDACachingAllocator.
//
// Programs ask how much is allocated, reserved and at its peak, and decide by it; they run out of
// memory where the real device would. So the model keeps what the real allocator keeps (blocks of
// 512 bytes in segments of 2 MiB, 20 MiB or their own size, split and merged alike) over an address
// space of its own. The bytes themselves live elsewhere, in host memory.
//
// Source of the rules and constants: c10/cuda/CUDACachingAllocator.cpp and
// c10/core/AllocatorConfig.h of PyTorch 2.13.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "devices/out_of_memory.h"

namespace torchport::device {

// A figure that goes up and down, as torch.cuda.memory_stats() reports it.
struct Stat {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;  // all that was ever added
  std::int64_t freed = 0;      // all that was ever taken away

  void add(std::int64_t amount);
  void subtract(std::int64_t amount);
};

// The same figure over all blocks, and for those of the small and the large pool.
struct PoolStat {
  enum : std::uint8_t { kAll, kSmall, kLarge };
  std::array<Stat, 3> of;

  void add(bool small, std::int64_t amount);
  void subtract(bool small, std::int64_t amount);
  // Adds, or takes away what is negative.
  void change(bool small, std::int64_t amount);
};

struct MemoryStats {
  PoolStat allocation;      // count of blocks handed out
  PoolStat segment;         // count of segments
  PoolStat active;          // count of blocks in use
  PoolStat inactive_split;  // count of free blocks that share a segment
  PoolStat allocated_bytes;
  PoolStat reserved_bytes;
  PoolStat active_bytes;
  PoolStat inactive_split_bytes;
  PoolStat requested_bytes;
  std::int64_t alloc_retries = 0;
  std::int64_t ooms = 0;
  std::int64_t device_allocs = 0;
  std::int64_t device_frees = 0;
};

using devices::OutOfMemory;

struct BlockView {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  bool allocated = false;
};
struct SegmentView {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::int64_t stream = 0;
  bool small = false;
  std::vector<BlockView> blocks;
};

// What the allocator did, as torch.cuda.memory._record_memory_history() records it.
enum class MemoryAction : std::uint8_t {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,
  kSegmentFree,
  kOutOfMemory,
};
struct MemoryEvent {
  MemoryAction action = MemoryAction::kAlloc;
  std::uint64_t address = 0;  // 0 for kOutOfMemory
  std::uint64_t size = 0;     // as requested; of segments, theirs
  std::int64_t stream = 0;
  std::uint64_t device_free = 0;
};
// Called while the model is locked: it must not ask the model, nor wait for anything that may.
using MemoryObserver = std::function<void(const MemoryEvent&)>;

// Thread-safe.
class MemoryModel {
 public:
  // `base`: where its addresses start; `total`: bytes of the device.
  MemoryModel(std::uint64_t base, std::uint64_t total);
  ~MemoryModel();
  MemoryModel(const MemoryModel&) = delete;
  MemoryModel& operator=(const MemoryModel&) = delete;

  // The address of a block for so many bytes on a stream, 0 for none; nothing when there is no
  // room, even after all cached segments were given back: then `failure` says why.
  [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::int64_t stream,
                                                      OutOfMemory& failure);
  void free(std::uint64_t address);

  void empty_cache();
  // At most this part of the device is used by this process; in (0, 1].
  void set_fraction(double fraction);
  [[nodiscard]] double fraction() const;
  void reset_peak();
  void reset_accumulated();

  // An empty function ends it.
  void observe(MemoryObserver observer);

  [[nodiscard]] MemoryStats stats() const;
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t device_free() const;
  [[nodiscard]] std::vector<SegmentView> snapshot() const;

  // Bytes that a request takes in a block.
  [[nodiscard]] static std::uint64_t round_size(std::uint64_t bytes);

 private:
  struct Block;
  struct ByStreamAndSize {
    bool operator()(const Block* a, const Block* b) const;
  };
  using Pool = std::set<Block*, ByStreamAndSize>;

  Block* find_free(Pool& pool, std::int64_t stream, std::uint64_t size) const;
  Block* new_segment(bool small, std::int64_t stream, std::uint64_t size);
  OutOfMemory out_of_memory(std::uint64_t size, std::int64_t stream);
  void split_off(Block* block, std::uint64_t size);
  void give_back_cached();
  void release_segment(Block* block);
  bool merge(Block* block, Block* other, Pool& pool);
  Pool& pool_of(const Block* block);
  void tell(MemoryAction action, std::uint64_t address, std::uint64_t size,
            std::int64_t stream) const;

  const std::uint64_t total_;
  std::uint64_t next_address_;
  std::uint64_t reserved_ = 0;
  double fraction_ = 1;
  Pool small_;
  Pool large_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Block>> blocks_;  // by address
  MemoryStats stats_;
  MemoryObserver observer_;
  mutable std::mutex mutex_;
};

}  // namespace torchport::device
