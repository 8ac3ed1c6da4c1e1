#include "cuda/check/async_copies.h"

#include <iterator>

namespace torchport::cuda::check {

void AsyncCopies::clear() {
  by_begin_.clear();
  groups_.clear();
}

void AsyncCopies::add(unsigned thread, const char* to, std::size_t bytes, std::uint32_t site) {
  while (const AsyncCopy* other = find(to, bytes)) by_begin_.erase(other->begin);
  by_begin_[to] = {to, to + bytes, thread, site, groups_[thread]};
}

std::vector<AsyncCopy> AsyncCopies::wait(unsigned thread, std::uint64_t left, bool all) {
  const std::uint64_t committed = groups_[thread];
  std::vector<AsyncCopy> done;
  for (auto at = by_begin_.begin(); at != by_begin_.end();) {
    const AsyncCopy& one = at->second;
    const bool is_done = one.thread == thread && (all || one.group + left < committed);
    if (is_done) done.push_back(one);
    at = is_done ? by_begin_.erase(at) : std::next(at);
  }
  return done;
}

const AsyncCopy* AsyncCopies::find(const char* at, std::size_t bytes) const {
  auto next = by_begin_.lower_bound(at);
  if (next != by_begin_.end() && next->first < at + bytes) return &next->second;
  if (next == by_begin_.begin()) return nullptr;
  const AsyncCopy& before = std::prev(next)->second;
  return before.end > at ? &before : nullptr;
}

}  // namespace torchport::cuda::check
