// The stacks that threads of kernels run on, and the switch between them: that of the toolkit's
// headers, or Boost.Context's.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "torchport/kernel.h"
#include "torchport/turns.h"
#if !TORCHPORT_OWN_SWITCH
#include <boost/context/detail/fcontext.hpp>
#endif

namespace torchport::cuda {

// A stack with what runs on it. One host thread owns it.
struct Fiber : Walk {
  Fiber() : Walk() {}
  char* low = nullptr;  // the stack; the page below cannot be touched
  char* high = nullptr;
  unsigned first = 0;  // the number of the first thread of the walk
  bool one_thread = false;
  const void* waits_at = nullptr;  // the call of active_lanes
  unsigned lanes = 0;              // that were active at the call
};

// Leaves the stack of `from` for that of `to`. Inlined, because a return to another stack than that
// of the call is not predicted: each costs as much as the switch.
__attribute__((always_inline)) inline void jump(Walk& from, const Walk& to) {
#if TORCHPORT_OWN_SWITCH
  switch_stacks(&from.context, to.context);
#else
  const auto came = boost::context::detail::jump_fcontext(to.context, &from);
  static_cast<Walk*>(came.data)->context = came.fctx;
#endif
}

// Stacks that are made once and used again. Not thread safe: each host thread has its own.
class FiberPool {
 public:
  static constexpr std::size_t kLeastStack = std::size_t{256} << 10U;

  FiberPool() = default;
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;
  ~FiberPool();

  // A stack that will run `entry`, which never returns.
  Fiber* take(void (*entry)());
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
