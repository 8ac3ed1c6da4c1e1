#include "cuda/check/order.h"

#include <algorithm>

namespace torchport::cuda::check {

namespace {

// 0 is no time.
Stamp earlier(Stamp one, Stamp other) {
  return one == 0 || (other != 0 && other < one) ? other : one;
}

}  // namespace

void Order::begin(std::uint64_t block, unsigned threads, Stamp launch_start, Stamp now) {
  block_ = block;
  threads_ = threads;
  launch_start_ = launch_start;
  block_start_ = generation_ = now;
  std::fill_n(known_.begin(), threads, launch_start);
  std::fill_n(unfenced_.begin(), threads, 0);
  std::fill_n(volatile_.begin(), threads, 0);
  // What lanes_ has of a block before is older than all of this one.
}

void Order::all_met(Stamp now) {
  generation_ = now;
  Stamp known = 0;
  Stamp unfenced = 0;
  Stamp of_volatiles = 0;
  for (unsigned i = 0; i < threads_; ++i) {
    known = std::max(known, known_[i]);
    unfenced = earlier(unfenced, unfenced_[i]);
    of_volatiles = earlier(of_volatiles, volatile_[i]);
  }
  std::fill_n(known_.begin(), threads_, known);
  std::fill_n(unfenced_.begin(), threads_, unfenced);
  std::fill_n(volatile_.begin(), threads_, of_volatiles);
}

void Order::some_met(const std::vector<unsigned>& threads, Stamp now) {
  for (const unsigned one : threads) known_[one] = now;
}

void Order::grid_met(Stamp now) {
  std::fill_n(known_.begin(), threads_, now);
  std::fill_n(unfenced_.begin(), threads_, 0);
  std::fill_n(volatile_.begin(), threads_, 0);
}

void Order::warp_met(unsigned warp, unsigned lanes, Stamp now) {
  std::array<Stamp, kLanes> all{};
  Stamp known = 0;
  Stamp unfenced = 0;
  Stamp of_volatiles = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    const unsigned thread = warp * kLanes + lane;
    for (unsigned i = 0; i < kLanes; ++i) all[i] = std::max(all[i], lanes_[thread][i]);
    known = std::max(known, known_[thread]);
    unfenced = earlier(unfenced, unfenced_[thread]);
    of_volatiles = earlier(of_volatiles, volatile_[thread]);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if ((lanes >> lane & 1U) != 0) all[lane] = now;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    const unsigned thread = warp * kLanes + lane;
    lanes_[thread] = all;
    known_[thread] = known;
    unfenced_[thread] = unfenced;
    volatile_[thread] = of_volatiles;
  }
}

}  // namespace torchport::cuda::check
