// Allocates the host memory for large tensors.
//
// malloc serves a training step's tensors (tens of megabytes, freed in another order and on other
// threads than they were allocated) from a heap that fragments: a ResNet-50 step takes a fifth more
// than it uses. This pool maps every large block by itself, keeps freed blocks for the next request
// that fits, and unmaps kept blocks that do not fit before it asks the system for more. So used and
// kept blocks together never exceed the peak of the used ones.
//
// All functions are thread safe.
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
  // Unmaps kept blocks only: tensors may outlive the pool, so blocks in use stay mapped.
  ~HostPool() { release(); }
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  // Returns at least `bytes` (> 0) bytes at a page boundary, with unspecified content; null if the
  // system has no more memory.
  [[nodiscard]] void* allocate(std::size_t bytes);
  // Takes back a block of allocate(). Returns false, and does nothing, for an address of another
  // allocator.
  bool free(void* address);
  // Returns all kept blocks to the system.
  void release();
  [[nodiscard]] Stats stats() const;

  // To be called before and after fork(), so that no other thread is changing the pool when the
  // child gets its copy.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  // Kept blocks by size and then by age; and their sizes by age.
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
