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
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "devices/out_of_memory.h"
#include "runtime/device/recycling.h"

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
  Stat oversize_allocations;  // blocks that are too large to be split
  Stat oversize_segments;
  std::int64_t alloc_retries = 0;
  std::int64_t ooms = 0;
  std::int64_t device_allocs = 0;
  std::int64_t device_frees = 0;
};

using devices::OutOfMemory;

// The id of a private pool, as torch has it: (n, 0) is a pool that a CUDA graph made for itself,
// (0, n) one of the program: a torch.cuda.MemPool or a graph_pool_handle(). (0, 0) is none: the
// blocks that everybody shares.
struct PoolId {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  auto operator<=>(const PoolId&) const = default;
};
// Whether memory for a stream is taken from a pool now. Is called while the model is locked.
using TakesFrom = std::function<bool(std::int64_t stream)>;
// Where a pool gets its segments from instead of the device. `take` returns whether there is such
// memory; `give` gets it back. Both are called while the model is locked.
struct SegmentSource {
  std::function<bool(std::uint64_t address, std::uint64_t size, std::int64_t stream)> take;
  std::function<void(std::uint64_t address, std::uint64_t size, std::int64_t stream)> give;
};

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
  PoolId pool{};
};

// The blocks of a private pool at one time, to return to.
struct PoolState {
  PoolId id{};
  std::vector<SegmentView> segments{};
};
// The addresses of the blocks that were freed and made when a pool returned to a state. A block
// that is in both was there and is there again.
struct PoolChange {
  std::vector<std::uint64_t> freed{};
  std::vector<std::uint64_t> allocated{};
};

// What the allocator did, as torch.cuda.memory._record_memory_history() records it.
enum class MemoryAction : std::uint8_t {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,  // memory for a part of an expandable segment
  kSegmentUnmap,
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

// The settings of the allocator (PYTORCH_CUDA_ALLOC_CONF), asked for whenever they count. Thread
// safe.
struct MemorySettings {
  // Into how many steps the sizes between two powers of 2 are divided; 0 or 1 for none.
  std::uint64_t (*divisions)(std::uint64_t size) = [](std::uint64_t) -> std::uint64_t { return 0; };
  // Larger blocks are not split,
  std::uint64_t (*largest_split)() = [] { return std::numeric_limits<std::uint64_t>::max(); };
  // and hold requests that are at most so much smaller.
  std::uint64_t (*slack_of_unsplit)() = [] { return std::uint64_t{20} << 20U; };
  // New memory extends a segment of its stream and pool instead of being a segment.
  bool (*expandable)() = [] { return false; };
  // From which part of the memory that this process may have, if its part was set, unused segments
  // are given back before new ones are taken; 0 for never.
  double (*collect_from)() = [] { return 0.0; };
};

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

  // Memory that the allocator does not manage, as cudaMalloc() gives it: it is in no statistics,
  // but the device has that much less. Returns its address; none if the device is full. free()
  // frees it.
  [[nodiscard]] std::optional<std::uint64_t> allocate_unmanaged(std::uint64_t bytes);

  // Gives cached segments back: those of a pool, or of everybody and of all pools without users.
  void empty_cache(PoolId pool = {});

  // Lets the driver manage the memory from now on
  // (PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync): there are no blocks, and of the statistics
  // only bytes. Its pool keeps what it has until empty_cache(). Call it before memory is used.
  void use_drivers_pool();
  [[nodiscard]] bool uses_drivers_pool() const { return drivers_pool_.load(); }

  // Private pools (note "Interaction with CUDA graph capture" of the real allocator): their blocks
  // are for themselves, and their segments are given back only once they have no user.

  // Adds a user to a pool, and makes it if there is none of this id.
  void use_pool(PoolId id);
  // Takes a user away. Returns false if there is no such pool, or it has none.
  bool release_pool(PoolId id);
  // The number of its users; none if there is no such pool.
  [[nodiscard]] std::optional<int> pool_users(PoolId id) const;
  // Lets allocations take from a pool when nothing else is left.
  void use_pool_when_full(PoolId id);
  // Lets a pool take its segments from elsewhere.
  void let_pool_take_from(PoolId id, SegmentSource source);
  // Never splits the blocks of a pool.
  void keep_pool_whole(PoolId id);
  // Takes memory from a pool wherever `takes` is true, until end_pool(). Adds a user. Returns false
  // if that was begun for this pool already.
  bool begin_pool(PoolId id, TakesFrom takes);
  // Returns false if it was not begun.
  bool end_pool(PoolId id);
  // Whether memory may be taken from a pool now: cheap, and never false while it may.
  [[nodiscard]] bool takes_from_pools() const {
    return pools_taken_from_.load(std::memory_order_relaxed) != 0;
  }
  // The pool of the block that was handed out at this address; none for everybody's, and if there
  // is no such block.
  [[nodiscard]] std::optional<PoolId> pool_of(std::uint64_t address) const;
  // The blocks of a pool; none if there is no such pool.
  [[nodiscard]] std::optional<PoolState> pool_state(PoolId id) const;
  // Returns a pool to a state of it. Segments that it got since then become free. Returns none, and
  // changes nothing, if a segment of the state is gone.
  std::optional<PoolChange> set_pool_state(const PoolState& state);

  // Limits this process to a part of the device, in (0, 1].
  void set_fraction(double fraction);
  [[nodiscard]] double fraction() const;
  void reset_peak();
  void reset_accumulated();

  // Uses these settings from now on.
  void set_settings(const MemorySettings& settings);

  // Stores the bytes that are reserved there after each change, and now.
  void publish(std::atomic<std::uint64_t>* reserved);

  // Sets the observer; an empty function removes it.
  void observe(MemoryObserver observer);

  [[nodiscard]] MemoryStats stats() const;
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t device_free() const;
  [[nodiscard]] std::vector<SegmentView> snapshot() const;

  // The size of the block that a request of `bytes` takes.
  [[nodiscard]] std::uint64_t round_size(std::uint64_t bytes) const;

 private:
  struct Block;
  struct PrivatePool;
  struct ByStreamAndSize {
    bool operator()(const Block* a, const Block* b) const;
  };
  struct ByStreamAndAddress {
    bool operator()(const Block* a, const Block* b) const;
  };
  struct Pool {
    Pool(RecyclingResource& nodes, bool is_small, PrivatePool* whose = nullptr)
        : free(&nodes), unmapped(&nodes), small(is_small), owner(whose) {}
    std::pmr::set<Block*, ByStreamAndSize> free;
    std::pmr::set<Block*, ByStreamAndAddress>
        unmapped;                // parts of expandable segments without memory
    std::uint64_t searches = 0;  // for a free block, while unused segments are collected
    bool small;
    PrivatePool* owner;  // null: everybody's
  };

  Pool& pool_for(std::uint64_t size, std::int64_t stream);
  Block* find_free(Pool& pool, std::int64_t stream, std::uint64_t size) const;
  Block* find_in_spare_pools(std::int64_t stream, std::uint64_t size);
  Block* new_segment(Pool& pool, std::int64_t stream, std::uint64_t size);
  // More memory for a request of `size`, rounded: a segment, or a part of an expandable one. Null
  // if there is none.
  Block* more_memory(Pool& pool, std::int64_t stream, std::uint64_t size);
  [[nodiscard]] bool fits_device(std::uint64_t size) const;
  // Expandable segments (expandable_segments.cpp).
  Block* expand(Pool& pool, std::int64_t stream, std::uint64_t size);
  Block* room_to_expand(Pool& pool, std::int64_t stream, std::uint64_t size);
  Block* new_expandable(Pool& pool, std::int64_t stream);
  [[nodiscard]] Block* map(Block* block, std::uint64_t size);
  void unmap(Block* block);
  Block* cut(Block* block, std::uint64_t size);
  OutOfMemory out_of_memory(std::uint64_t size, std::int64_t stream);
  void hand_out(Block* block, std::uint64_t size, std::uint64_t requested);
  void take_back(Block* block);
  void split_off(Block* block, std::uint64_t size);
  void split(Block* block, std::uint64_t size);
  std::optional<std::uint64_t> allocate_in_drivers_pool(std::uint64_t bytes, OutOfMemory& failure);
  bool free_in_drivers_pool(std::uint64_t address);
  void trim_drivers_pool();
  void insert_free(Block* block);
  [[nodiscard]] bool collects() const;
  [[nodiscard]] std::uint64_t allowed() const;
  void collect_unused();
  bool give_back_oversize(Pool& pool, std::int64_t stream, std::uint64_t size);
  void give_back_cached(PoolId pool);
  void give_back_cached(Pool& pool);
  void release_segment(Block* block);
  bool merge(Block* block, Block* other);
  SegmentView view_of(const Block* first) const;
  void set_reserved(std::uint64_t bytes);
  void tell(MemoryAction action, std::uint64_t address, std::uint64_t size,
            std::int64_t stream) const;

  const std::uint64_t total_;
  std::uint64_t next_address_;
  std::uint64_t reserved_ = 0;
  std::uint64_t unmanaged_ = 0;
  // The driver's pool (drivers_pool.cpp): requested sizes by address, and their sum.
  std::atomic<bool> drivers_pool_{false};
  std::unordered_map<std::uint64_t, std::uint64_t> drivers_sizes_;
  std::uint64_t drivers_requested_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> unmanaged_sizes_;  // by address
  std::atomic<std::uint64_t>* published_ = nullptr;
  double fraction_ = 1;
  bool fraction_was_set_ = false;
  MemorySettings settings_;
  RecyclingResource nodes_;  // of the containers of blocks
  Pool small_{nodes_, true};
  Pool large_{nodes_, false};
  std::map<PoolId, std::unique_ptr<PrivatePool>> private_pools_;
  // The pools that memory is taken from now, in the order of their begin.
  std::vector<std::pair<PoolId, TakesFrom>> taking_;
  std::atomic<std::size_t> pools_taken_from_{0};                           // how many those are
  std::pmr::unordered_map<std::uint64_t, std::unique_ptr<Block>> blocks_;  // by address
  MemoryStats stats_;
  MemoryObserver observer_;
  mutable std::mutex mutex_;
};

}  // namespace torchport::device
