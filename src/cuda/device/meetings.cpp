// Where the threads of a block wait for each other: barriers, and the lanes of warps.
#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "cuda/device/block.h"
#include "cuda/device/checker.h"
#include "cuda/device/error_codes.h"

namespace torchport::cuda {

namespace {

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

}  // namespace torchport::cuda
