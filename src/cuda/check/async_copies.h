// Copies of a block's threads that are asynchronous on a GPU (cp.async, __pipeline_memcpy_async,
// memcpy_async of groups), until their threads have waited for them. Here their bytes are there at
// once, so that who does not wait would not be noticed.
//
// A thread's copies form groups, each of which ends at a commit (PTX ISA, cp.async.commit_group and
// cp.async.wait_group). Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace torchport::cuda::check {

struct AsyncCopy {
  const char* begin = nullptr;
  const char* end = nullptr;
  unsigned thread = 0;
  std::uint32_t site = 0;
  std::uint64_t group = 0;  // of the thread's
};

class AsyncCopies {
 public:
  void clear();
  [[nodiscard]] bool empty() const { return by_begin_.empty(); }
  // A copy in the thread's group that is open. It takes the place of others to the same bytes.
  void add(unsigned thread, const char* to, std::size_t bytes, std::uint32_t site);
  void commit(unsigned thread) { ++groups_[thread]; }
  // The thread has waited: all but its newest `left` groups that are committed are done, and are
  // returned. `all`: the open one, too.
  std::vector<AsyncCopy> wait(unsigned thread, std::uint64_t left, bool all);
  // A copy that writes any of these bytes; null: there is none.
  [[nodiscard]] const AsyncCopy* find(const char* at, std::size_t bytes) const;

 private:
  std::map<const char*, AsyncCopy> by_begin_;           // they do not overlap
  std::unordered_map<unsigned, std::uint64_t> groups_;  // those of a thread that are committed
};

}  // namespace torchport::cuda::check
