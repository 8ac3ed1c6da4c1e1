// What a checked kernel does with memory.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "cuda/check/kernel_checker.h"
#include "cuda/check/lines.h"
#include "cuda/check/words.h"
#include "cuda/device/block.h"
#include "cuda/device/error_codes.h"

namespace torchport::cuda::check {

namespace {

constexpr std::size_t kMostUnwritten = 1024;

}  // namespace

void KernelChecker::access(const char* at, std::size_t bytes, unsigned flags, std::uintptr_t code) {
  Block* block = Block::current();
  if (block == nullptr || !block->runs_kernel()) return;
  if (block->is_local(at) || block->is_walk(at)) return;
  std::optional<Ends> ends;
  {
    const std::scoped_lock lock(mutex_);
    ends = check(*block, at, bytes, flags, code);
  }
  if (ends) block->fail(ends->error, "");
}

void KernelChecker::fence() {
  const Block* block = Block::current();
  if (block == nullptr || !block->runs_kernel()) return;
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(*block);
  settle(running, *block);
  next();
  running.order.fenced(block->thread());
}

std::uint32_t KernelChecker::site_of(std::uintptr_t code) {
  const auto [found, is_new] =
      numbers_.try_emplace(code, static_cast<std::uint32_t>(sites_.size()));
  if (is_new) sites_.push_back(code);
  return found->second;
}

std::optional<Known> KernelChecker::find(Running& running, const Block& block,
                                         const char* at) const {
  for (const Shared& one : running.shared)
    if (at >= one.begin && at < one.end) return Known{one.begin, one.end, Kind::kShared};
  const char* dynamic = torchport_cuda_dynamic_shared;
  if (at >= dynamic && at < dynamic + sizeof(torchport_cuda_dynamic_shared)) {
    const char* end = dynamic + block.launch().sizes.shared;
    if (at < end) return Known{dynamic, end, Kind::kShared};
    return std::nullopt;
  }
  const auto* body = static_cast<const char*>(block.launch().body);
  const std::size_t size = block.launch().kernel.size;
  if (at >= body && at < body + size) return Known{body, body + size, Kind::kQuiet};
  return map_.find(at);
}

const Known* KernelChecker::known_at(Running& running, const Block& block, const char* at) {
  constexpr std::uintptr_t kGrain = 9;
  Known& kept =
      running.cache[(reinterpret_cast<std::uintptr_t>(at) >> kGrain) % running.cache.size()];
  if (at >= kept.begin && at < kept.end) return &kept;
  const auto found = find(running, block, at);
  if (!found) return nullptr;
  kept = *found;
  return &kept;
}

std::optional<KernelChecker::Ends> KernelChecker::check(const Block& block, const char* at,
                                                        std::size_t bytes, unsigned flags,
                                                        std::uintptr_t code) {
  Running& running = running_of(block);
  settle(running, block);
  const Known* known = known_at(running, block, at);
  if (known == nullptr) {
    if (block.is_exchanged(at)) return std::nullopt;
    return nothing_there(running, block, at, bytes, flags, code);
  }
  if (known->kind == Kind::kQuiet) return std::nullopt;
  if (at + bytes > known->end) {
    const Known before = *known;
    if (known_at(running, block, before.end) == nullptr)
      return nothing_there(running, block, before.end,
                           bytes - static_cast<std::size_t>(before.end - at), flags, code);
    return std::nullopt;
  }
  constexpr std::size_t kWidest = 8;
  if ((flags & kUnaligned) == 0 && bytes <= kWidest &&
      reinterpret_cast<std::uintptr_t>(at) % bytes != 0) {
    if (is_new(Cause::kMisaligned, code))
      findings_.print(
          Cause::kMisaligned,
          fmt::format("{}: {} {} {} bytes of {} at an address that is no multiple of {}",
                      line_of(code), here(block), (flags & kWrite) != 0 ? "writes" : "reads", bytes,
                      name_of(running, block, at), bytes));
    return Ends{kMisaligned};
  }
  if (known->kind == Kind::kShared) find_early_use(running, block, at, bytes, flags, code);
  check_cells(running, block, *known, at, bytes, flags, site_of(code));
  return std::nullopt;
}

void KernelChecker::check_cells(Running& running, const Block& block, const Known& known,
                                const char* at, std::size_t bytes, unsigned flags,
                                std::uint32_t site) {
  const unsigned thread = block.thread();
  const Order& order = running.order;
  // A volatile access of global memory is how programs wait for other blocks.
  const bool is_volatile =
      (flags & kAtomic) == 0 && (flags & kVolatile) != 0 && known.kind == Kind::kGlobal;
  const bool atomic = (flags & kAtomic) != 0 || is_volatile;
  const bool writes = (flags & kWrite) != 0;
  const bool reads = !writes || (flags & (kAtomic | kStores)) == kAtomic;
  const Access now{who_is(order.block(), thread), stamp_, site, atomic, is_volatile};
  const char* place = at;
  bool told = false;
  std::size_t unwritten = 0;  // bytes that no thread of the block has written
  const auto races_with = [&](const Access& one) {
    // The block before had other variables at the same place.
    if (known.kind == Kind::kShared && order.is_of_before(one)) return false;
    return one.stamp != 0 && !(one.atomic && atomic) && !order.is_before(one, thread);
  };
  shadow_.for_cells(reinterpret_cast<std::uintptr_t>(at), bytes, [&](Cell& cell, std::size_t step) {
    if (order.is_of_before(cell.write) && order.is_of_before(cell.atomic_write)) unwritten += step;
    const bool after_plain = races_with(cell.write);
    if (!told && after_plain && writes && !atomic && bytes <= running.pending.before.size()) {
      Pending& pending = running.pending;
      if (pending.bytes == 0) {
        pending = {bytes, at, {}, now, cell.write, known.kind};
        std::memcpy(pending.before.data(), at, bytes);
      }
    } else if (!told && (after_plain || races_with(cell.atomic_write))) {
      told = true;
      race(running, block, known.kind, place, now, writes,
           after_plain ? cell.write : cell.atomic_write, true);
    }
    if (!told && known.kind == Kind::kGlobal && (writes || cell.atomic_write.is_volatile))
      told = volatile_race(running, block, cell, place,
                           bytes - static_cast<std::size_t>(place - at), now, writes);
    if (atomic && writes && cell.last_read.who == now.who && !cell.last_read.atomic)
      begins_loop_.insert(cell.last_read.site);
    if (writes) {
      for (const Access* one : {&cell.first_read, &cell.last_read}) {
        if (told || !races_with(*one)) continue;
        told = true;
        race(running, block, known.kind, place, now, true, *one, false);
      }
      if (atomic)
        cell = {cell.write, now, {}, {}};
      else
        cell = {now, {}, {}, {}};
    } else {
      if (!races_with(cell.first_read)) cell.first_read = now;
      cell.last_read = now;
    }
    place += step;
  });
  // A copy of a structure may copy what lies between its members, too.
  if (known.kind == Kind::kShared && reads && unwritten >= bytes && !is_in_library(sites_[site]) &&
      running.unwritten.size() < kMostUnwritten)
    running.unwritten.push_back({at, bytes, sites_[site], thread});
  if (atomic) order_by(running, thread, at, flags);
  if (writes && known.kind == Kind::kGlobal && !atomic) running.order.wrote_global(thread, stamp_);
}

// What an atomic access orders.
void KernelChecker::order_by(Running& running, unsigned thread, const char* at, unsigned flags) {
  const bool writes = (flags & kWrite) != 0;
  const bool reads = !writes || (flags & (kAtomic | kStores)) == kAtomic;
  const bool releases = (flags & kReleases) != 0;
  if (reads) learn(running, thread, at);
  if (!writes) {
    running.reads = at;
    running.reader = thread;
    return;
  }
  Word& word = released_[at];
  note_flag(running, thread, word, reads, releases);
  if ((flags & kAtomic) == 0) running.order.wrote_volatile(thread, stamp_);
  word.released = std::max(word.released, running.order.released(thread, releases, next()));
}

}  // namespace torchport::cuda::check
