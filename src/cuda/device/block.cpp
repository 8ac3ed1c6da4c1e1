#include "cuda/device/block.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <sched.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "cuda/device/checker.h"
#include "cuda/device/error_codes.h"

namespace torchport::cuda {

namespace fcontext = boost::context::detail;

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

// The thread behind the one before it, by its number.
::uint3 place_of(unsigned number, const ::dim3& block) {
  return {number % block.x, number / block.x % block.y, number / block.x / block.y};
}

}  // namespace

Checker* checker() {
  return the_checker;
}

void set_checker(Checker* checker) {
  the_checker = checker;
}

Block::Block() {
  for (auto& barrier : barriers_) barrier.waiting.reserve(kLanes);
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
  live_ = threads_;
  started_ = 0;
  if (met_) forget();
  here = this;
  if (Checker* watches = checker()) watches->begin_block(*this);
  running_ = &root_;
  const DenormalsFlushed flushed(launch.kernel.flushes_denormals);
  runs_.store(&launch, std::memory_order_relaxed);
  switch_to(start());
  runs_.store(nullptr, std::memory_order_relaxed);
  if (Checker* watches = checker()) watches->end_block(*this);
  running_ = nullptr;
  here = nullptr;
  torchport_cuda_walk = nullptr;
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
  yields_ = 0;
  ready_first_ = ready_last_ = nullptr;
  ready_count_ = 0;
  for (Warp& warp : warps_) {
    warp.gone = 0;
    warp.pending.clear();
    warp.converging.clear();
  }
  for (Barrier& barrier : barriers_) {
    barrier.waiting.clear();
    barrier.arrived = barrier.wanted = 0;
    barrier.trues = 0;
  }
}

// Two threads of the block are going to meet.
void Block::begin_to_meet() {
  met_ = true;
  if (threads_ % kLanes != 0) warps_[threads_ / kLanes].gone = ~0U << (threads_ % kLanes);
}

unsigned Block::thread() const {
  const Walk& walk = running_->walk;
  if (running_->one_thread) return running_->thread;
  const ::dim3& size = launch_->sizes.block;
  return walk.x + size.x * (walk.y + size.y * walk.z);
}

::uint3 Block::thread_index() const {
  return place_of(thread(), launch_->sizes.block);
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
        (running_->high - running_->low) / 1024);
  // In a plain loop over threads the compiler may be ahead of what it has stored.
  const char* others =
      running_->one_thread || launch_->sizes.block.x == 1 ? "" : " or behind it in its row";
  fail(fault.error, fmt::format("block ({}, {}, {}), thread ({}, {}, {}){}: {}", place_.x, place_.y,
                                place_.z, at.x, at.y, at.z, others, what));
}

void Block::abandoned() {
  switch_to(&root_);
  __builtin_unreachable();
}

// ---- fibers ----

void Block::enter(fcontext::transfer_t from) {
  Block& block = *here;
  block.resumed(from);
  block.launch_->kernel.threads(block.launch_->body, block.running_->walk);
  block.ended();
}

__attribute__((always_inline)) inline void Block::resumed(fcontext::transfer_t from) {
  static_cast<Fiber*>(from.data)->context = from.fctx;
  if (dead_ != nullptr) {
    pool_.give(dead_);
    dead_ = nullptr;
  }
}

// Inlined, because a return to another stack than that of the call is not predicted: each costs as
// much as the switch.
__attribute__((always_inline)) inline void Block::switch_to(Fiber* fiber) {
  Fiber* me = running_;
  if (fiber == me) return;
  running_ = fiber;
  torchport_cuda_walk = fiber == &root_ ? nullptr : &fiber->walk;
  resumed(fcontext::jump_fcontext(fiber->context, me));
}

// A walk for the threads that have not begun.
Fiber* Block::start() {
  Fiber* fiber = pool_.take(&Block::enter);
  const ::dim3& size = launch_->sizes.block;
  const ::uint3 at = place_of(started_, size);
  fiber->walk = {at.x, at.y, at.z, size.x, place_, size, launch_->sizes.grid};
  fiber->first = started_;
  return fiber;
}

// The fiber of the thread that runs. Its walk, if it is one, ends with this thread.
Fiber& Block::own() {
  Fiber& me = *running_;
  yields_ = 0;
  if (!me.one_thread) {
    if (!met_) begin_to_meet();
    me.thread = thread();
    me.one_thread = true;
    me.walk.end = 0;
    started_ = me.thread + 1;
    if (me.first < me.thread) mark_gone(me.first, me.thread);
  }
  let_go(me);
  return me;
}

void Block::ended() {
  Fiber& me = *running_;
  yields_ = 0;
  let_go(me);
  if (me.one_thread) {
    mark_gone(me.thread, me.thread + 1);
  } else {
    started_ = threads_;
    mark_gone(me.first, threads_);
  }
  Fiber* following = next();
  dead_ = &me;
  switch_to(following);
  __builtin_unreachable();
}

void Block::make_ready(Fiber* fiber) {
  fiber->next = nullptr;
  (ready_last_ == nullptr ? ready_first_ : ready_last_->next) = fiber;
  ready_last_ = fiber;
  ++ready_count_;
}

// What runs when the running thread cannot go on.
Fiber* Block::next() {
  while (true) {
    if (launch_->failed) return &root_;
    if (ready_first_ != nullptr) {
      Fiber* fiber = ready_first_;
      ready_first_ = fiber->next;
      if (ready_first_ == nullptr) ready_last_ = nullptr;
      --ready_count_;
      return fiber;
    }
    const bool warp_has_begun = started_ == threads_ || started_ % kLanes == 0;
    if (warp_has_begun && release_converging()) continue;
    if (started_ < threads_) return start();
    if (live_ == 0) return &root_;
    if (release_incomplete()) continue;
    launch_->fail(kLaunchFailure, who_waits());
  }
}

void Block::mark_gone(unsigned from, unsigned to) {
  live_ -= to - from;
  if (live_ == 0) return;
  for (unsigned w = from / kLanes; w <= (to - 1) / kLanes; ++w) {
    const unsigned first = std::max(from, w * kLanes) % kLanes;
    const unsigned count = std::min(to, (w + 1) * kLanes) - std::max(from, w * kLanes);
    warps_[w].gone |= (count == kLanes ? ~0U : (1U << count) - 1U) << first;
    settle(warps_[w]);
  }
  settle_barrier(barriers_[0]);
  settle_barrier(barriers_[kGridBarrier]);
}

void Block::yield() {
  const std::size_t before = yields_;
  Fiber& me = own();
  yields_ = before + 1;
  if (yields_ > ready_count_ + 1) {
    release_converging();
    sched_yield();  // what it waits for may be done by another block
  }
  // After an assertion threads may wait for what will not come.
  if (launch_->error != 0 && yields_ > kPatience) launch_->fail(launch_->error, "");
  if (launch_->failed) switch_to(&root_);
  make_ready(&me);
  switch_to(started_ < threads_ ? start() : next());
}

void Block::fail(int error, const std::string& text) {
  launch_->fail(error, text);
  switch_to(&root_);
  __builtin_unreachable();
}

// ---- barriers ----

bool Block::settle_barrier(Barrier& barrier) {
  if (barrier.waiting.empty()) return false;
  const unsigned wanted = barrier.wanted == 0 ? live_ : barrier.wanted;
  if (barrier.arrived < wanted) return false;
  if (&barrier == &barriers_[kGridBarrier] && launch_->barrier != nullptr &&
      !launch_->barrier->wait())
    return false;  // failed elsewhere: next() ends the block
  const auto in_order = [](const Fiber* a, const Fiber* b) { return a->thread < b->thread; };
  if (!std::is_sorted(barrier.waiting.begin(), barrier.waiting.end(), in_order))
    std::sort(barrier.waiting.begin(), barrier.waiting.end(), in_order);
  if (Checker* watches = checker()) {
    if (&barrier == &barriers_[kGridBarrier])
      watches->grid_met(*this);
    else
      watches->met(*this, barrier.waiting, barrier.wanted == 0);
  }
  for (Fiber* one : barrier.waiting) make_ready(one);
  barrier.waiting.clear();
  barrier.arrived = barrier.wanted = 0;
  barrier.result = barrier.trues;
  barrier.trues = 0;
  return true;
}

void Block::wait(unsigned number, unsigned threads, bool wait, const Site& site) {
  Fiber& me = own();
  Barrier& barrier = barriers_[number];
  barrier.wanted = threads;
  ++barrier.arrived;
  if (!wait) {
    settle_barrier(barrier);
    return;
  }
  me.site = &site;  // it lies on the stack of the thread, which waits
  barrier.waiting.push_back(&me);
  settle_barrier(barrier);
  switch_to(next());
}

int Block::count(bool predicate, const Site& site) {
  if (predicate) ++barriers_[0].trues;
  wait(0, 0, true, site);
  return barriers_[0].result;
}

// ---- warps ----

void Block::let_go(Fiber& fiber) {
  auto* held = static_cast<Exchange*>(fiber.held);
  if (held == nullptr) return;
  fiber.held = nullptr;
  if (--held->readers == 0) free_exchanges_.push_back(held);
}

// All that will come have come. They go on in the order of their lanes, but for the one that runs.
void Block::complete(Warp& warp, Exchange& exchange, const Fiber* runs) {
  warp.pending.erase(std::find(warp.pending.begin(), warp.pending.end(), &exchange));
  // Only __syncwarp() leaves nothing, and orders memory.
  if (Checker* watches = checker(); watches != nullptr && exchange.bytes == 0)
    watches->warp_met(*this, static_cast<unsigned>(&warp - warps_.data()), exchange.arrived);
  exchange.readers = static_cast<unsigned>(std::popcount(exchange.arrived));
  for (Fiber* one : exchange.waiting) {
    if (one == nullptr) continue;
    one->held = &exchange;
    if (one != runs) make_ready(one);
  }
}

void Block::settle(Warp& warp) {
  for (std::size_t i = 0; i < warp.pending.size();) {
    Exchange& one = *warp.pending[i];
    if (((one.arrived | warp.gone) & one.mask) == one.mask)
      complete(warp, one, nullptr);
    else
      ++i;
  }
}

const void* Block::exchange(unsigned mask, const void* mine, std::size_t bytes, const Site& site) {
  Fiber& me = own();
  const unsigned lane = me.thread % kLanes;
  Warp& warp = warps_[me.thread / kLanes];
  // A lane that is not in its own mask gets no value of others.
  if ((mask >> lane & 1U) == 0) {
    if (Checker* watches = checker()) watches->not_in_mask(*this, mask, site);
    mask = 1U << lane;
  }
  const auto found =
      std::find_if(warp.pending.begin(), warp.pending.end(), [&](const Exchange* one) {
        return one->mask == mask && one->bytes == bytes && (one->arrived >> lane & 1U) == 0;
      });
  Exchange* it = found == warp.pending.end() ? nullptr : *found;
  if (it == nullptr) {
    if (free_exchanges_.empty()) {
      exchanges_.push_back(std::make_unique<Exchange>());
      free_exchanges_.push_back(exchanges_.back().get());
    }
    it = free_exchanges_.back();
    free_exchanges_.pop_back();
    it->mask = mask;
    it->arrived = 0;
    it->bytes = bytes;
    it->waiting.fill(nullptr);
    const std::size_t units =
        (kLanes * bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
    if (it->values.size() < units) it->values.resize(units);
    warp.pending.push_back(it);
  }
  auto* values = reinterpret_cast<char*>(it->values.data());
  if (bytes > 0) std::memcpy(values + lane * bytes, mine, bytes);
  it->arrived |= 1U << lane;
  it->waiting[lane] = &me;
  if (((it->arrived | warp.gone) & mask) == mask) {
    complete(warp, *it, &me);
    return values;
  }
  me.site = &site;  // it lies on the stack of the thread, which waits
  switch_to(next());
  return values;
}

bool Block::is_exchanged(const void* address) const {
  return std::any_of(exchanges_.begin(), exchanges_.end(), [&](const auto& one) {
    const void* begin = one->values.data();
    const void* end = one->values.data() + one->values.size();
    return address >= begin && address < end;
  });
}

void Block::check_lane(unsigned lane, const Site& site) const {
  const auto* held = static_cast<const Exchange*>(running_->held);
  if (held == nullptr || (held->mask >> lane & 1U) != 0) return;
  // What a program does not use it may read of a lane that is not there.
  const bool is_there = (warps_[running_->thread / kLanes].gone >> lane & 1U) == 0;
  if (is_there) checker()->absent_lane(*this, lane, site);
}

unsigned Block::active_lanes(const void* site) {
  Fiber& me = own();
  me.waits_at = site;
  warps_[me.thread / kLanes].converging.push_back(&me);
  ++converging_;
  switch_to(next());
  return me.lanes;
}

// Every lane has come as far as it can: those at one call are active there together.
bool Block::release_converging() {
  if (converging_ == 0) return false;
  for (unsigned w = 0; w * kLanes < threads_; ++w) {
    auto& all = warps_[w].converging;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] == nullptr) continue;
      const void* site = all[i]->waits_at;
      unsigned lanes = 0;
      for (std::size_t j = i; j < all.size(); ++j)
        if (all[j] != nullptr && all[j]->waits_at == site) lanes |= 1U << (all[j]->thread % kLanes);
      for (std::size_t j = i; j < all.size(); ++j) {
        if (all[j] == nullptr || all[j]->waits_at != site) continue;
        Fiber* one = all[j];
        all[j] = nullptr;
        one->lanes = lanes;
        make_ready(one);
      }
    }
    all.clear();
  }
  converging_ = 0;
  return true;
}

// A mask names lanes that wait elsewhere. A GPU goes on with those that came.
bool Block::release_incomplete() {
  for (unsigned w = 0; w * kLanes < threads_; ++w) {
    if (warps_[w].pending.empty()) continue;
    Exchange& front = *warps_[w].pending.front();
    const auto came = std::find_if(front.waiting.begin(), front.waiting.end(),
                                   [](Fiber* f) { return f != nullptr; });
    if (Checker* watches = checker(); watches != nullptr && came != front.waiting.end())
      watches->incomplete(*this, w, front.mask, front.arrived, *(*came)->site);
    complete(warps_[w], front, nullptr);
    return true;
  }
  return false;
}

std::string Block::who_waits() const {
  std::vector<std::pair<Site, unsigned>> groups;
  for (const Barrier& barrier : barriers_) {
    for (const Fiber* one : barrier.waiting) {
      const Site& site = *one->site;
      auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        return group.first.line == site.line && std::strcmp(group.first.file, site.file) == 0;
      });
      if (found == groups.end()) found = groups.insert(found, {site, 0});
      ++found->second;
    }
  }
  std::string text = fmt::format("block ({}, {}, {}): not all threads reach the same barrier",
                                 place_.x, place_.y, place_.z);
  for (const auto& [site, count] : groups)
    text += fmt::format("; {} of {} wait in {} at {}:{}", count, threads_, site.what, site.file,
                        site.line);
  if (live_ < threads_) text += fmt::format("; {} have ended", threads_ - live_);
  return text;
}

// ---- what kernels call ----

void wait_for_block(const Site& site) {
  if (Block* block = Block::current()) block->wait(0, 0, true, site);
}

void wait_for_threads(unsigned number, unsigned threads, bool wait, const Site& site) {
  if (Block* block = Block::current()) block->wait(number % kGridBarrier, threads, wait, site);
}

void wait_for_tile(unsigned size, unsigned rank, unsigned threads, const Site& site) {
  // One tile of 1024 threads, two of 512, ..., sixteen of 64.
  if (Block* block = Block::current())
    block->wait(kTileBarriers + kMostThreads / size - 1 + rank, threads, true, site);
}

void leave_for_tile(unsigned thread, const void* mine) {
  if (Block* block = Block::current()) block->left_for_tiles.at(thread) = mine;
}
void take_from_tile(unsigned thread, void* to, std::size_t bytes) {
  if (Block* block = Block::current()) std::memcpy(to, block->left_for_tiles.at(thread), bytes);
}

void wait_for_grid(const Site& site) {
  Block* block = Block::current();
  if (block == nullptr) return;
  if (block->launch().barrier == nullptr &&
      block->launch().sizes.grid.x * block->launch().sizes.grid.y * block->launch().sizes.grid.z >
          1)
    block->fail(
        kLaunchFailure,
        fmt::format("the whole grid waits at {}:{}, but the launch was not a cooperative one; "
                    "use cudaLaunchCooperativeKernel",
                    site.file, site.line));
  block->wait(kGridBarrier, 0, true, site);
}

bool is_cooperative() {
  const Block* block = Block::current();
  return block != nullptr && block->launch().sizes.cooperative;
}

const void* exchange(unsigned mask, const void* mine, std::size_t bytes, const Site& site) {
  Block* block = Block::current();
  return block == nullptr ? mine : block->exchange(mask, mine, bytes, site);
}

void check_lane(unsigned lane, const Site& site) {
  const Block* block = Block::current();
  if (block != nullptr && checker() != nullptr) block->check_lane(lane, site);
}

unsigned active_lanes(const void* site) {
  Block* block = Block::current();
  return block == nullptr ? 1 : block->active_lanes(site);
}

void yield() {
  if (Block* block = Block::current()) block->yield();
}

unsigned lane_of_thread() {
  const Block* block = Block::current();
  return block == nullptr ? 0 : block->thread() % kLanes;
}

unsigned warp_of_thread() {
  const Block* block = Block::current();
  return block == nullptr ? 0 : block->thread() / kLanes;
}

std::size_t dynamic_shared_bytes() {
  const Block* block = Block::current();
  return block == nullptr ? 0 : block->launch().sizes.shared;
}

void exit_thread() {
  if (Block* block = Block::current()) block->end_thread();
  std::abort();
}

void trap(const char* why) {
  if (Block* block = Block::current()) block->fail(kLaunchFailure, why);
  std::abort();
}

}  // namespace torchport::cuda
