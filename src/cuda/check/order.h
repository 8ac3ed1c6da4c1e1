// What the threads of one block know of the past of others: the happens-before relation of a
// kernel's run.
//
// A barrier orders all that came to it. __syncwarp() orders the lanes of its mask. An atomic
// operation, or a volatile one in global memory, orders what its thread did, up to its last fence,
// before what a thread does that uses the same word later; this is taken for all threads at that
// time (`known`), so that an order may be seen that is none, but never the lack of one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/check/shadow.h"

namespace torchport::cuda::check {

class Order {
 public:
  static constexpr unsigned kLanes = 32;
  static constexpr unsigned kMostThreads = 1024;

  // `start`: all before it is over when the block begins.
  void begin(std::uint64_t block, unsigned threads, Stamp launch_start, Stamp now);

  // Whether an access of another thread came before what `thread` does now.
  [[nodiscard]] bool is_before(const Access& one, unsigned thread) const {
    if (one.stamp < launch_start_) return true;
    const bool own_block = block_of(one.who) == block_;
    if (own_block && (thread_of(one.who) == thread || one.stamp < generation_)) return true;
    if (one.stamp < known_[thread]) return true;
    return own_block && thread_of(one.who) / kLanes == thread / kLanes &&
           one.stamp < lanes_[thread][thread_of(one.who) % kLanes];
  }
  // Whether nobody of this block has written there since the block began.
  [[nodiscard]] bool is_of_before(const Access& one) const { return one.stamp < block_start_; }

  // The whole block has met; some threads of it; all blocks.
  void all_met(Stamp now);
  void some_met(const std::vector<unsigned>& threads, Stamp now);
  void grid_met(Stamp now);
  void warp_met(unsigned warp, unsigned lanes, Stamp now);

  void wrote_global(unsigned thread, Stamp now) {
    if (unfenced_[thread] == 0) unfenced_[thread] = now;
  }
  void wrote_volatile(unsigned thread, Stamp now) {
    if (volatile_[thread] == 0) volatile_[thread] = now;
  }
  void fenced(unsigned thread) { unfenced_[thread] = volatile_[thread] = 0; }
  // The first volatile write that no fence followed; 0: none.
  [[nodiscard]] Stamp first_volatile(unsigned thread) const { return volatile_[thread]; }
  // Up to where others know of `thread` that see what it writes atomically now. `releases`: the
  // operation is a fence as well.
  [[nodiscard]] Stamp released(unsigned thread, bool releases, Stamp now) const {
    if (releases || unfenced_[thread] == 0) return now;
    return known_[thread] > unfenced_[thread] ? known_[thread] : unfenced_[thread];
  }
  void acquired(unsigned thread, Stamp up_to) {
    if (known_[thread] < up_to) known_[thread] = up_to;
  }
  [[nodiscard]] std::uint64_t block() const { return block_; }

 private:
  std::uint64_t block_ = 0;
  unsigned threads_ = 0;
  Stamp launch_start_ = 0;
  Stamp block_start_ = 0;
  Stamp generation_ = 0;  // of the last barrier of the whole block
  std::array<Stamp, kMostThreads> known_{};
  std::array<Stamp, kMostThreads> unfenced_{};  // the first write that no fence followed; 0: none
  std::array<Stamp, kMostThreads> volatile_{};  // the same of volatile ones
  // What a thread knows of the lanes of its warp.
  std::vector<std::array<Stamp, kLanes>> lanes_ =
      std::vector<std::array<Stamp, kLanes>>(kMostThreads);
};

}  // namespace torchport::cuda::check
