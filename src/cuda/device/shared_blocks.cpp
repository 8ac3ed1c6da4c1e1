#include "cuda/device/shared_blocks.h"

#include <algorithm>

namespace torchport::cuda {

namespace {

using namespace std::chrono_literals;

constexpr unsigned kCountBits = 16;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
constexpr std::size_t kLongest = 1024;
// A claim takes some 100 ns if another processor made the last one.
constexpr auto kShort = 10us;
constexpr auto kLongRun = 40us;

std::uint64_t packed(std::size_t first, std::size_t count) {
  return std::uint64_t{first} << kCountBits | count;
}

}  // namespace

std::optional<std::size_t> SharedBlocks::pop(std::atomic<std::uint64_t>& run) {
  std::uint64_t now = run.load();
  while ((now & kCountMask) != 0)
    if (run.compare_exchange_weak(now, now + packed(1, 0) - 1)) return now >> kCountBits;
  return std::nullopt;
}

std::optional<std::size_t> SharedBlocks::claim(Share& share) {
  const auto now = Clock::now();
  if (share.claimed != Clock::time_point()) {
    const auto took = now - share.claimed;
    if (took < kShort) share.length = std::min(share.length * 2, kLongest);
    if (took > kLongRun) share.length = std::max<std::size_t>(share.length / 2, 1);
  }
  share.claimed = now;
  const std::size_t first = next_.fetch_add(share.length);
  if (first >= blocks_) return std::nullopt;
  share.run = packed(first + 1, std::min(share.length, blocks_ - first) - 1);
  return first;
}

std::optional<std::size_t> SharedBlocks::pop_of_others() {
  for (Share& one : shares_)
    if (const auto block = pop(one.run)) return block;
  return std::nullopt;
}

std::optional<std::size_t> SharedBlocks::take(std::size_t runner) {
  if (runner != kGuest) {
    Share& mine = shares_[runner];
    if (const auto block = pop(mine.run)) return block;
    if (const auto block = claim(mine)) return block;
    return pop_of_others();
  }
  // The runners of these may wait for them.
  if (const auto block = pop_of_others()) return block;
  const std::size_t block = next_++;
  if (block < blocks_) return block;
  return pop_of_others();
}

void SharedBlocks::ended(std::size_t runner) {
  if (runner == kGuest) {
    ++ended_by_guests_;
    return;
  }
  std::atomic<std::size_t>& mine = shares_[runner].ended;
  mine.store(mine.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool SharedBlocks::has_more() const {
  return next_ < blocks_ || std::any_of(shares_.begin(), shares_.end(), [](const Share& one) {
           return (one.run & kCountMask) != 0;
         });
}

std::size_t SharedBlocks::count_ended() const {
  std::size_t all = ended_by_guests_;
  for (const Share& one : shares_) all += one.ended.load(std::memory_order_relaxed);
  return all;
}

}  // namespace torchport::cuda
