// Which thread of the host runs which blocks of a grid.
//
// Each runner claims a run of blocks that follow each other, the longer the quicker they are, so
// that short blocks cost no traffic between processors and neighbours stay on one. Every block
// begins after all earlier ones, but for those that a runner is about to run: a block that waits
// for earlier ones always gets what it waits for. Blocks of a run that its runner has not begun are
// given to whoever has nothing else to do, and to runners that were started because a block waits
// for a later one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace torchport::cuda {

// Its counters do not share a cache line with what each take() reads.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
class SharedBlocks {
 public:
  // A runner that others do not wait for: it claims one block at a time.
  static constexpr std::size_t kGuest = ~std::size_t{0};

  // `blocks` < 2^48. Each runner below `runners` is one thread at a time.
  SharedBlocks(std::size_t blocks, std::size_t runners) : blocks_(blocks), shares_(runners) {}

  // A block for a runner, and the one before, if there was one, has ended; none: all have begun.
  // Thread safe, without a lock.
  std::optional<std::size_t> take(std::size_t runner);
  // A runner has run a block.
  void ended(std::size_t runner);

  // Whether a block has not begun. Thread safe.
  [[nodiscard]] bool has_more() const;
  // How many blocks have ended. Thread safe.
  [[nodiscard]] std::size_t count_ended() const;

 private:
  using Clock = std::chrono::steady_clock;

  // On cache lines of its own, since its runner changes it with each block.
  struct alignas(128) Share {
    std::atomic<std::uint64_t> run = 0;  // the next block, and in the low bits how many
    std::atomic<std::size_t> ended = 0;  // written by the runner only
    std::size_t length = 1;              // of the run that it claims next
    Clock::time_point claimed{};
  };

  static std::optional<std::size_t> pop(std::atomic<std::uint64_t>& run);
  std::optional<std::size_t> claim(Share& share);
  std::optional<std::size_t> pop_of_others();

  const std::size_t blocks_;
  alignas(128) std::atomic<std::size_t> next_ = 0;  // the first block that nobody claimed
  alignas(128) std::atomic<std::size_t> ended_by_guests_ = 0;
  std::vector<Share> shares_;
};

}  // namespace torchport::cuda
