// Models the memory of one virtual device by the rules of PyTorch's CUDACachingAllocator.
//
// Programs ask how much memory is allocated, reserved and at its peak, and decide by the answers;
// they also run out of memory where the real device would. A sum of tensor sizes would not do:
// it differs from the real figures by rounding, caching and fragmentation. So the model
// does what the real allocator does (blocks of 512 bytes in segments of 2 MiB, 20 MiB or their own
// size, split and merged in the same way) on an address space of its own. The bytes themselves lie
// elsewhere in host memory.
//
// The rules and constants are those of c10/cuda/CUDACachingAllocator.cpp and
// c10/core/AllocatorConfig.h of PyTorch 2.13. All sizes are in bytes.
#pragma once

#include <array>
#include <atomic>
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

// A figure that rises and falls, as torch.cuda.memory_stats() reports it.
struct Stat {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;  // the sum of all that was added
  std::int64_t freed = 0;      // the sum of all that was subtracted

  void add(std::int64_t amount);
  void subtract(std::int64_t amount);
};

// The same figure for all blocks, for those of the small pool and for those of the large one.
struct PoolStat {
  enum : std::uint8_t { kAll, kSmall, kLarge };
  std::array<Stat, 3> of;

  void add(bool small, std::int64_t amount);
  void subtract(bool small, std::int64_t amount);
  // Adds `amount`, or subtracts it if it is negative.
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
  std::uint64_t size = 0;     // the requested size; for segments, the segment's size
  std::int64_t stream = 0;
  std::uint64_t device_free = 0;
};
// Is called while the model is locked: it must not call the model, nor wait for a thread that may.
using MemoryObserver = std::function<void(const MemoryEvent&)>;

// All functions are thread safe: one lock guards the model.
class MemoryModel {
 public:
  // `base` is its first address, `total` the device's size in bytes.
  MemoryModel(std::uint64_t base, std::uint64_t total);
  ~MemoryModel();
  MemoryModel(const MemoryModel&) = delete;
  MemoryModel& operator=(const MemoryModel&) = delete;

  // Allocates a block for `bytes` on a stream, and returns its address (0 if bytes is 0). Returns
  // none, with the reason in `failure`, if there is no room even after all cached segments were
  // given back.
  [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::int64_t stream,
                                                      OutOfMemory& failure);
  void free(std::uint64_t address);

  void empty_cache();
  // Limits this process to a part of the device, in (0, 1].
  void set_fraction(double fraction);
  [[nodiscard]] double fraction() const;
  void reset_peak();
  void reset_accumulated();

  // Stores the bytes that are reserved there after each change, and now.
  void publish(std::atomic<std::uint64_t>* reserved);

  // Sets the observer; an empty function removes it.
  void observe(MemoryObserver observer);

  [[nodiscard]] MemoryStats stats() const;
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t device_free() const;
  [[nodiscard]] std::vector<SegmentView> snapshot() const;

  // The size of the block that a request of `bytes` takes.
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
  void set_reserved(std::uint64_t bytes);
  void tell(MemoryAction action, std::uint64_t address, std::uint64_t size,
            std::int64_t stream) const;

  const std::uint64_t total_;
  std::uint64_t next_address_;
  std::uint64_t reserved_ = 0;
  std::atomic<std::uint64_t>* published_ = nullptr;
  double fraction_ = 1;
  Pool small_;
  Pool large_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Block>> blocks_;  // by address
  MemoryStats stats_;
  MemoryObserver observer_;
  mutable std::mutex mutex_;
};

}  // namespace torchport::device
