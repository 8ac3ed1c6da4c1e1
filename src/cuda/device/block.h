// Runs the threads of one block, on one thread of the host.
//
// A thread that waits is a fiber; see torchport/kernel.h for how it becomes one. Which thread runs
// next follows a fixed order (those that may go on, by when they were set free; then the next
// thread that has not begun), so that a block computes the same each time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/device/faults.h"
#include "cuda/device/fiber.h"
#include "cuda/device/launch.h"
#include "torchport/warp.h"

namespace torchport::cuda {

inline constexpr unsigned kLanes = 32;
inline constexpr unsigned kMostThreads = 1024;
// Barriers 0 to 15 are those of bar.sync; then that of the grid, and those of tiles of several
// warps.
inline constexpr unsigned kGridBarrier = 16;
inline constexpr unsigned kTileBarriers = kGridBarrier + 1;
inline constexpr unsigned kBarriers = kTileBarriers + 31;

// An exchange with the memory of its values.
struct OwnExchange : Exchange {
  std::vector<std::max_align_t> memory;
};

class Block {
 public:
  Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  // The block that runs on this thread of the host; none outside of kernels.
  static Block* current();

  // Runs a block to its end, or to an error that the launch has then.
  void run(Launch& launch, ::uint3 place);

  void wait(unsigned number, unsigned threads, bool wait, const Site& site);
  // As wait(0): how many of the threads that came pass true.
  int count(bool predicate, const Site& site);
  const void* exchange(unsigned mask, const void* mine, std::size_t bytes, const Site& site);
  unsigned active_lanes(const void* site);
  void yield();
  [[nodiscard]] unsigned thread() const;
  [[nodiscard]] ::uint3 thread_index() const;
  [[nodiscard]] ::uint3 place() const { return place_; }
  // The thread that runs ends here. `error`: the launch has it in the end, and goes on. Does not
  // return.
  [[noreturn]] void end_thread(int error = 0);
  // Whether a thread of a kernel runs, and not this class.
  [[nodiscard]] bool runs_kernel() const { return torchport_cuda_walk != nullptr; }
  // Whether a launch is in the hands of this block now; thread safe.
  [[nodiscard]] bool runs(const Launch& launch) const { return runs_ == &launch; }
  // Whether an address lies on the stack of the thread that runs.
  [[nodiscard]] bool is_local(const void* address) const {
    const auto* at = static_cast<const char*>(address);
    return at >= running().low && at < running().high;
  }
  // Whether an address is of what lanes left for each other.
  [[nodiscard]] bool is_exchanged(const void* address) const;
  // Tells the checker if the thread, after an exchange, reads the value of a lane that left none.
  void check_lane(unsigned lane, const Site& site) const;
  // Whether an address is of the walk of the thread that runs.
  [[nodiscard]] bool is_walk(const void* address) const {
    const auto* at = static_cast<const char*>(address);
    const auto* walk = reinterpret_cast<const char*>(&running());
    return at >= walk && at < walk + sizeof(Walk);
  }
  // Leaves the kernel if the launch has failed.
  void leave_if_failed();
  // Of a handler of signals: where the program is to go on, on the stack of the thread that runs.
  [[nodiscard]] char* landing_stack() const { return running().high; }
  Fault fault{};
  // Where threads keep values for others of their tile.
  std::array<const void*, kMostThreads> left_for_tiles{};
  [[noreturn]] void faulted();
  [[noreturn]] void abandoned();
  [[nodiscard]] const Launch& launch() const { return *launch_; }
  [[nodiscard]] Launch& launch() { return *launch_; }
  // Ends the kernel: the launch has this error. Does not return.
  [[noreturn]] void fail(int error, const std::string& text);
  // Where a fault at `address` may come from: the stack of a thread was too small.
  [[nodiscard]] bool is_stack_overflow(const void* address) const {
    return pool_.is_guard(address);
  }

 private:
  struct Warp : WarpTurns {
    std::vector<Exchange*> pending;
    std::vector<Fiber*> converging;  // in active_lanes, with waits_at as the place
  };

  static void enter();
  // The stack that is in use; that of run(), if no kernel's is.
  [[nodiscard]] Fiber& running() {
    return torchport_cuda_walk == nullptr ? root_ : static_cast<Fiber&>(*torchport_cuda_walk);
  }
  [[nodiscard]] const Fiber& running() const {
    return torchport_cuda_walk == nullptr ? root_ : static_cast<const Fiber&>(*torchport_cuda_walk);
  }
  [[nodiscard]] Barrier& barrier(unsigned number) {
    return number == 0 ? turns_.barrier : barriers_[number];
  }
  void forget();
  void begin_to_meet();
  Fiber& own();
  void switch_to(Walk* next);
  Walk* next();
  Fiber* start();
  void ended();
  void mark_gone(unsigned from, unsigned to);
  void make_ready(Walk* one);
  void make_ready(Queue& waiting);
  void complete(Warp& warp, Exchange& exchange);
  void settle(Warp& warp);
  bool settle_barrier(Barrier& barrier);
  bool release_converging();
  bool release_incomplete();
  void let_go(Fiber& fiber);
  std::string who_waits() const;

  bool met_ = false;  // whether threads have waited for each other since forget()
  Launch* launch_ = nullptr;
  std::atomic<const Launch*> runs_ = nullptr;
  ::uint3 place_{};
  FiberPool pool_;
  Fiber root_;
  Turns turns_;
  unsigned threads_ = 0;
  unsigned started_ = 0;  // threads that have begun: all with a lower number
  unsigned converging_ = 0;
  std::array<Warp, kMostThreads / kLanes> warps_;
  std::array<Barrier, kBarriers> barriers_;  // but for number 0
  std::vector<std::unique_ptr<OwnExchange>> exchanges_;
  std::vector<Exchange*> free_exchanges_;
};

__attribute__((always_inline)) inline void Block::switch_to(Walk* next) {
  Fiber& me = running();
  if (next == &me) return;
  torchport_cuda_walk = next == &root_ ? nullptr : next;
  jump(me, *next);
}

}  // namespace torchport::cuda
