// Where the bytes of large tensors live in the host's memory.
//
// malloc serves a training step's tensors (tens of megabytes, freed in another order and on other
// threads than they were made) out of a heap that fragments: a ResNet-50 step takes a fifth more
// than it uses. A pool gives every large block a mapping of its own, keeps freed ones for the next
// that fits, and returns what does not fit before it asks for more. What it holds, used and kept
// together, never exceeds the most that was in use at one time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace torchport::device {

class HostPool {
 public:
  struct Stats {  // bytes
    std::size_t used = 0;
    std::size_t kept = 0;
    std::size_t peak_used = 0;
  };

  HostPool() = default;
  // Blocks that are still in use stay mapped.
  ~HostPool() { release(); }
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  // At least `bytes` (more than none), at a page's start, with any content; null where the system
  // has no more. Thread-safe, as are the others.
  [[nodiscard]] void* allocate(std::size_t bytes);
  // Takes back what allocate() gave; false where this pool did not give it.
  bool free(void* address);
  // Returns all kept blocks to the system.
  void release();
  [[nodiscard]] Stats stats() const;

  // Around fork(): the child gets a pool that no other thread was in.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  // Kept blocks by size, the longest kept first; and their sizes by the time they are kept.
  using BySize = std::map<std::pair<std::size_t, std::uint64_t>, void*>;
  using ByAge = std::map<std::uint64_t, std::size_t>;

  void* take_kept(std::size_t bytes);
  void make_room(std::size_t bytes);
  void unmap_oldest();
  void count_used(void* address, std::size_t bytes);

  mutable std::mutex mutex_;
  Stats stats_;
  BySize by_size_;
  ByAge by_age_;
  std::uint64_t clock_ = 0;
  std::unordered_map<void*, std::size_t> used_;
};

}  // namespace torchport::device
