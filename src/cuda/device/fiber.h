// The stacks that threads of kernels run on, and the switch between them (Boost.Context).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <boost/context/detail/fcontext.hpp>

#include "torchport/kernel.h"
#include "torchport/warp.h"

namespace torchport::cuda {

// A stack with what runs on it. One host thread owns it.
struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;
  char* low = nullptr;  // the stack; the page below cannot be touched
  char* high = nullptr;
  Walk walk{};
  unsigned first = 0;   // the number of the first thread of the walk
  unsigned thread = 0;  // of the thread that this stack belongs to, once it is one thread's
  bool one_thread = false;
  Fiber* next = nullptr;           // in the queue
  const void* waits_at = nullptr;  // the call of active_lanes
  unsigned lanes = 0;              // that were active at the call
  const Site* site = nullptr;      // where the thread waits
  void* held = nullptr;            // an exchange whose values the thread may read
};

// Stacks that are made once and used again. Not thread safe: each host thread has its own.
class FiberPool {
 public:
  static constexpr std::size_t kLeastStack = std::size_t{256} << 10U;

  FiberPool() = default;
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;
  ~FiberPool();

  // A stack that will run `entry`, which never returns.
  Fiber* take(void (*entry)(boost::context::detail::transfer_t));
  void give(Fiber* fiber) { free_.push_back(fiber); }
  // The stacks that are made from now on hold as much as a device's stacks of `bytes` do; a host's
  // frames are larger.
  static void let_stacks_be(std::size_t bytes);
  // All stacks are free again: what ran on them is abandoned.
  void reset();
  // Whether an address lies in the page below one of the stacks.
  [[nodiscard]] bool is_guard(const void* address) const;

 private:
  void forget();

  std::size_t stack_bytes_ = 0;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> free_;
};

}  // namespace torchport::cuda
