#include "cuda/device/block.h"

#include <algorithm>

#include <fmt/format.h>
#include <sched.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "cuda/device/checker.h"
#include "cuda/device/error_codes.h"

namespace torchport::cuda {

extern "C" {
__thread Walk* torchport_cuda_walk = nullptr;
}

namespace {

__thread Block* here __attribute__((tls_model("initial-exec"))) = nullptr;
constexpr std::size_t kPatience = 1000;
Checker* the_checker = nullptr;

// The processor's mode while a kernel runs; each fiber keeps the mode that it began with. It holds
// for double precision, too, which a GPU never flushes.
class DenormalsFlushed {
 public:
#ifdef __x86_64__
  explicit DenormalsFlushed(bool flushes) : before_(_mm_getcsr()) {
    constexpr unsigned kFlushAndZero = 0x8040;
    if (flushes) _mm_setcsr(before_ | kFlushAndZero);
  }
  ~DenormalsFlushed() { _mm_setcsr(before_); }
#else
  explicit DenormalsFlushed(bool /*flushes*/) {}
#endif
  DenormalsFlushed(const DenormalsFlushed&) = delete;
  DenormalsFlushed& operator=(const DenormalsFlushed&) = delete;

 private:
#ifdef __x86_64__
  unsigned before_;
#endif
};

}  // namespace

Checker* checker() {
  return the_checker;
}

void set_checker(Checker* checker) {
  the_checker = checker;
}

Block::Block() {
  watch_thread(this);
}

Block::~Block() {
  forget_thread(this);
}

Block* Block::current() {
  return here;
}

void Block::run(Launch& launch, ::uint3 place) {
  launch_ = &launch;
  place_ = place;
  const ::dim3& size = launch.sizes.block;
  threads_ = size.x * size.y * size.z;
  turns_.live = threads_;
  started_ = 0;
  if (met_) forget();
  here = this;
  if (Checker* watches = checker()) watches->begin_block(*this);
  const DenormalsFlushed flushed(launch.kernel.flushes_denormals);
  runs_.store(&launch, std::memory_order_relaxed);
  switch_to(start());
  runs_.store(nullptr, std::memory_order_relaxed);
  if (Checker* watches = checker()) watches->end_block(*this);
  here = nullptr;
  if (launch.failed) {
    // What waits is abandoned.
    pool_.reset();
    free_exchanges_.clear();
    for (const auto& one : exchanges_) free_exchanges_.push_back(one.get());
  }
}

// What the threads of the block before left where they met.
void Block::forget() {
  met_ = false;
  converging_ = 0;
  turns_ = {};
  turns_.live = threads_;
  for (Warp& warp : warps_) {
    warp.gone = 0;
    warp.open = nullptr;
    warp.pending.clear();
    warp.converging.clear();
  }
  barriers_.fill({});
}

// Two threads of the block are going to meet.
void Block::begin_to_meet() {
  met_ = true;
  if (threads_ % kLanes != 0) warps_[threads_ / kLanes].gone = ~0U << (threads_ % kLanes);
}

unsigned Block::thread() const {
  const Fiber& walk = running();
  if (walk.one_thread) return walk.thread;
  const ::dim3& size = launch_->sizes.block;
  return walk.x + size.x * (walk.y + size.y * walk.z);
}

::uint3 Block::thread_index() const {
  return place_in(thread(), launch_->sizes.block);
}

void Block::end_thread(int error) {
  if (error != 0) launch_->note(error);
  own();
  ended();
  __builtin_unreachable();
}

void Block::leave_if_failed() {
  if (runs_kernel() && launch_->failed) switch_to(&root_);
}

void Block::faulted() {
  const ::uint3 at = thread_index();
  std::string what = describe(fault);
  if (is_stack_overflow(fault.address))
    what = fmt::format(
        "its stack of {} KiB is full (a recursion that does not end, or large local arrays)",
        (running().high - running().low) / 1024);
  // In a plain loop over threads the compiler may be ahead of what it has stored.
  const char* others =
      running().one_thread || launch_->sizes.block.x == 1 ? "" : " or behind it in its row";
  fail(fault.error, fmt::format("block ({}, {}, {}), thread ({}, {}, {}){}: {}", place_.x, place_.y,
                                place_.z, at.x, at.y, at.z, others, what));
}

void Block::abandoned() {
  switch_to(&root_);
  __builtin_unreachable();
}

// ---- fibers ----

void Block::enter() {
  Block& block = *here;
  block.launch_->kernel.threads(block.launch_->body, block.running());
  block.ended();
}

// A walk for the threads that have not begun.
Fiber* Block::start() {
  Fiber* fiber = pool_.take(&Block::enter);
  const ::dim3& size = launch_->sizes.block;
  const ::uint3 at = place_in(started_, size);
  fiber->x = at.x;
  fiber->y = at.y;
  fiber->z = at.z;
  fiber->end = size.x;
  fiber->block = place_;
  fiber->block_size = size;
  fiber->grid_size = launch_->sizes.grid;
  fiber->first = started_;
  return fiber;
}

// The fiber of the thread that runs. Its walk, if it is one, ends with this thread.
Fiber& Block::own() {
  Fiber& me = running();
  turns_.yields = 0;
  if (!me.one_thread) {
    if (launch_->kernel.in_phases)
      fail(kLaunchFailure, "a thread waits in a part of the kernel that was taken not to wait");
    if (!met_) begin_to_meet();
    me.thread = thread();
    me.one_thread = true;
    me.end = 0;
    me.quick = TORCHPORT_OWN_SWITCH != 0 && checker() == nullptr;
    me.turns = &turns_;
    me.warp = &warps_[me.thread / kLanes];
    started_ = me.thread + 1;
    if (me.first < me.thread) mark_gone(me.first, me.thread);
  }
  let_go(me);
  return me;
}

void Block::ended() {
  Fiber& me = running();
  turns_.yields = 0;
  let_go(me);
  if (me.one_thread) {
    mark_gone(me.thread, me.thread + 1);
  } else {
    started_ = threads_;
    mark_gone(me.first, threads_);
  }
  Walk* following = next();
  pool_.give(&me);  // nobody takes it before this thread has left it
  switch_to(following);
  __builtin_unreachable();
}

void Block::make_ready(Walk* one) {
  turns_.ready.push(one);
}

void Block::make_ready(Queue& waiting) {
  if (waiting.first == nullptr) return;
  (turns_.ready.first == nullptr ? turns_.ready.first : turns_.ready.last->next) = waiting.first;
  turns_.ready.last = waiting.last;
  waiting.first = nullptr;
}

// What runs when the running thread cannot go on.
Walk* Block::next() {
  while (true) {
    if (launch_->failed) return &root_;
    if (turns_.ready.first != nullptr) return turns_.ready.pop();
    const bool warp_has_begun = started_ == threads_ || started_ % kLanes == 0;
    if (warp_has_begun && release_converging()) continue;
    if (started_ < threads_) return start();
    if (turns_.live == 0) return &root_;
    if (release_incomplete()) continue;
    launch_->fail(kLaunchFailure, who_waits());
  }
}

void Block::mark_gone(unsigned from, unsigned to) {
  turns_.live -= to - from;
  if (turns_.live == 0) return;
  for (unsigned w = from / kLanes; w <= (to - 1) / kLanes; ++w) {
    const unsigned first = std::max(from, w * kLanes) % kLanes;
    const unsigned count = std::min(to, (w + 1) * kLanes) - std::max(from, w * kLanes);
    warps_[w].gone |= (count == kLanes ? ~0U : (1U << count) - 1U) << first;
    settle(warps_[w]);
  }
  settle_barrier(turns_.barrier);
  settle_barrier(barriers_[kGridBarrier]);
}

void Block::yield() {
  if (launch_->kernel.in_phases) {  // its threads do not wait for each other between barriers
    leave_if_failed();
    sched_yield();
    return;
  }
  const std::size_t before = turns_.yields;
  Fiber& me = own();
  turns_.yields = before + 1;
  if (turns_.yields > turns_.live + 1) {
    release_converging();
    sched_yield();  // what it waits for may be done by another block
  }
  // After an assertion threads may wait for what will not come.
  if (launch_->error != 0 && turns_.yields > kPatience) launch_->fail(launch_->error, "");
  if (launch_->failed) switch_to(&root_);
  make_ready(&me);
  switch_to(started_ < threads_ ? start() : next());
}

void Block::fail(int error, const std::string& text) {
  launch_->fail(error, text);
  switch_to(&root_);
  __builtin_unreachable();
}

}  // namespace torchport::cuda
