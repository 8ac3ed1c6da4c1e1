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

// By the numbers of the threads.
void sort(Queue& waiting) {
  if (waiting.first == nullptr || waiting.in_order) return;
  std::vector<Walk*> all;
  for (Walk* one = waiting.first; one != nullptr; one = one->next) all.push_back(one);
  std::sort(all.begin(), all.end(),
            [](const Walk* a, const Walk* b) { return a->thread < b->thread; });
  waiting.first = nullptr;
  for (Walk* one : all) waiting.push(one);
}

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

__attribute__((always_inline)) inline void Block::switch_to(Walk* next) {
  Fiber& me = running();
  if (next == &me) return;
  torchport_cuda_walk = next == &root_ ? nullptr : next;
  jump(me, *next);
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

// ---- barriers ----

bool Block::settle_barrier(Barrier& barrier) {
  if (barrier.waiting.first == nullptr) return false;
  const unsigned wanted = barrier.wanted == 0 ? turns_.live : barrier.wanted;
  if (barrier.arrived < wanted) return false;
  if (&barrier == &barriers_[kGridBarrier] && launch_->barrier != nullptr &&
      !launch_->barrier->wait())
    return false;  // failed elsewhere: next() ends the block
  sort(barrier.waiting);
  if (Checker* watches = checker()) {
    if (&barrier == &barriers_[kGridBarrier]) {
      watches->grid_met(*this);
    } else {
      std::vector<Fiber*> all;
      for (Walk* one = barrier.waiting.first; one != nullptr; one = one->next)
        all.push_back(static_cast<Fiber*>(one));
      watches->met(*this, all, barrier.wanted == 0);
    }
  }
  make_ready(barrier.waiting);
  barrier.arrived = barrier.wanted = 0;
  barrier.result = barrier.trues;
  barrier.trues = 0;
  return true;
}

void Block::wait(unsigned number, unsigned threads, bool wait, const Site& site) {
  Fiber& me = own();
  Barrier& meeting = barrier(number);
  meeting.wanted = threads;
  ++meeting.arrived;
  if (!wait) {
    settle_barrier(meeting);
    return;
  }
  me.site = &site;  // it lies on the stack of the thread, which waits
  meeting.waiting.push(&me);
  settle_barrier(meeting);
  switch_to(next());
}

int Block::count(bool predicate, const Site& site) {
  if (predicate) ++turns_.barrier.trues;
  wait(0, 0, true, site);
  return turns_.barrier.result;
}

// ---- warps ----

void Block::let_go(Fiber& fiber) {
  Exchange* held = fiber.held;
  if (held == nullptr) return;
  fiber.held = nullptr;
  if (--held->readers == 0) free_exchanges_.push_back(held);
}

// All that will come have come. They go on in the order of their lanes.
void Block::complete(Warp& warp, Exchange& exchange) {
  warp.pending.erase(std::find(warp.pending.begin(), warp.pending.end(), &exchange));
  warp.open = warp.pending.empty() ? nullptr : warp.pending.back();
  // Only __syncwarp() leaves nothing, and orders memory.
  if (Checker* watches = checker(); watches != nullptr && exchange.bytes == 0)
    watches->warp_met(*this, static_cast<unsigned>(&warp - warps_.data()), exchange.arrived);
  sort(exchange.waiting);
  make_ready(exchange.waiting);
}

void Block::settle(Warp& warp) {
  for (std::size_t i = 0; i < warp.pending.size();) {
    Exchange& one = *warp.pending[i];
    if (((one.arrived | warp.gone) & one.mask) == one.mask)
      complete(warp, one);
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
      exchanges_.push_back(std::make_unique<OwnExchange>());
      free_exchanges_.push_back(exchanges_.back().get());
    }
    auto* made = static_cast<OwnExchange*>(free_exchanges_.back());
    free_exchanges_.pop_back();
    const std::size_t units =
        (kLanes * bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
    if (made->memory.size() <= units) made->memory.resize(units + 1);
    made->mask = mask;
    made->arrived = made->readers = 0;
    made->bytes = bytes;
    made->waiting.first = nullptr;
    made->values = reinterpret_cast<char*>(made->memory.data());
    warp.pending.push_back(made);
    it = warp.open = made;
  }
  if (bytes > 0) std::memcpy(it->values + lane * bytes, mine, bytes);
  it->arrived |= 1U << lane;
  ++it->readers;
  me.held = it;
  me.site = &site;  // it lies on the stack of the thread, which waits
  it->waiting.push(&me);
  if (((it->arrived | warp.gone) & mask) == mask) complete(warp, *it);
  switch_to(next());
  return it->values;
}

bool Block::is_exchanged(const void* address) const {
  return std::any_of(exchanges_.begin(), exchanges_.end(), [&](const auto& one) {
    const void* begin = one->memory.data();
    const void* end = one->memory.data() + one->memory.size();
    return address >= begin && address < end;
  });
}

void Block::check_lane(unsigned lane, const Site& site) const {
  const Exchange* held = running().held;
  if (held == nullptr || (held->mask >> lane & 1U) != 0) return;
  // What a program does not use it may read of a lane that is not there.
  const bool is_there = (warps_[running().thread / kLanes].gone >> lane & 1U) == 0;
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
    sort(front.waiting);
    if (Checker* watches = checker(); watches != nullptr && front.waiting.first != nullptr)
      watches->incomplete(*this, w, front.mask, front.arrived, *front.waiting.first->site);
    complete(warps_[w], front);
    return true;
  }
  return false;
}

std::string Block::who_waits() const {
  std::vector<std::pair<Site, unsigned>> groups;
  for (unsigned number = 0; number < kBarriers; ++number) {
    const Barrier& barrier = number == 0 ? turns_.barrier : barriers_[number];
    for (const Walk* one = barrier.waiting.first; one != nullptr; one = one->next) {
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
  if (turns_.live < threads_) text += fmt::format("; {} have ended", threads_ - turns_.live);
  return text;
}

// ---- what kernels call ----

void wait_for_block_slowly(const Site& site) {
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

const void* exchange_slowly(unsigned mask, const void* mine, std::size_t bytes, const Site& site) {
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

unsigned number_of_thread() {
  const Block* block = Block::current();
  return block == nullptr ? 0 : block->thread();
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
