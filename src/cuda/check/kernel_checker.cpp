#include "cuda/check/kernel_checker.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "cuda/check/lines.h"
#include "cuda/device/block.h"
#include "cuda/device/error_codes.h"
#include "torchport/kernel.h"

namespace torchport::cuda::check {

namespace {

std::uint64_t number_of(const Block& block) {
  const ::dim3& grid = block.launch().sizes.grid;
  const ::uint3 place = block.place();
  return place.x + std::uint64_t{grid.x} * (place.y + std::uint64_t{grid.y} * place.z);
}

unsigned threads_of(const Block& block) {
  const ::dim3& size = block.launch().sizes.block;
  return size.x * size.y * size.z;
}

std::string text_of(const ::uint3& place) {
  return fmt::format("({}, {}, {})", place.x, place.y, place.z);
}

std::string thread_words(const Block& block, unsigned thread) {
  return fmt::format("thread {}", text_of(place_in(thread, block.launch().sizes.block)));
}

std::string here(const Block& block) {
  return fmt::format("thread {} of block {} of {}", text_of(block.thread_index()),
                     text_of(block.place()), block.launch().kernel.name);
}

std::string line_of_site(const Site& site) {
  return fmt::format("{}:{}", site.file, site.line);
}

constexpr std::size_t kMostUnwritten = 1024;

std::uintptr_t key_of(const std::string& line) {
  return std::hash<std::string>()(line);
}
std::uintptr_t key_of(const Site& site) {
  return key_of(line_of_site(site));
}

}  // namespace

KernelChecker::Running& KernelChecker::running_of(const Block& block) {
  std::unique_ptr<Running>& one = running_[&block];
  if (one == nullptr) one = std::make_unique<Running>();
  return *one;
}

// ---- what blocks tell ----

void KernelChecker::begin(const Launch& launch) {
  const std::scoped_lock lock(mutex_);
  ++launches_;
  launch_start_ = next();
  released_.clear();
  for (auto& [block, running] : running_) running->cache.fill({});
  if (!launch.kernel.checked && unchecked_.insert(launch.kernel.name).second)
    fmt::print(stderr,
               "torchport: the kernel {} is not checked: build it again under `torchport run "
               "--check-kernels`, or with `torchport nvcc --check-kernels`\n",
               launch.kernel.name);
}

void KernelChecker::end(const Launch& /*launch*/) {
  const std::scoped_lock lock(mutex_);
  tell_reads_of_atomics();
  shadow_.trim();
  arguments_.clear();
}

void KernelChecker::end_block(const Block& block) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(block);
  settle(running, block);
  tell_unwritten(running, block);
}

void KernelChecker::begin_block(const Block& block) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(block);
  running.unwritten.clear();
  running.pending.bytes = 0;
  running.shared.clear();
  running.cache.fill({});
  running.order.begin(number_of(block), threads_of(block), launch_start_, next());
}

void KernelChecker::met(const Block& block, const std::vector<Fiber*>& waiting, bool all) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(block);
  settle(running, block);
  if (!all) {
    std::vector<unsigned> threads;
    threads.reserve(waiting.size());
    for (const Fiber* one : waiting) threads.push_back(one->thread);
    running.order.some_met(threads, next());
    return;
  }
  tell_unwritten(running, block);
  running.order.all_met(next());
  if (waiting.empty()) return;
  const Site& first = *waiting.front()->site;
  for (const Fiber* one : waiting) {
    const Site& site = *one->site;
    if (site.line == first.line && std::strcmp(site.file, first.file) == 0) continue;
    if (!is_ignored(line_of_site(first)) && !is_ignored(line_of_site(site)) &&
        findings_.is_new(Cause::kBarrier, key_of(first), key_of(site)))
      findings_.print(
          Cause::kBarrier,
          fmt::format("{}: {} of block {} of {} waits in {} here, {} at {}; all threads of a block "
                      "have to come to the same barrier",
                      line_of_site(first), thread_words(block, waiting.front()->thread),
                      text_of(block.place()), block.launch().kernel.name, first.what,
                      thread_words(block, one->thread), line_of_site(site)));
    break;
  }
  if (waiting.size() < threads_of(block) && !is_ignored(line_of_site(first)) &&
      findings_.is_new(Cause::kBarrier, key_of(first)))
    findings_.print(
        Cause::kBarrier,
        fmt::format("{}: {} of {} threads of block {} of {} come to {}; the others have "
                    "ended, and all threads of a block have to come to a barrier",
                    line_of_site(first), waiting.size(), threads_of(block), text_of(block.place()),
                    block.launch().kernel.name, first.what));
}

void KernelChecker::warp_met(const Block& block, unsigned warp, unsigned lanes) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(block);
  settle(running, block);
  running.order.warp_met(warp, lanes, next());
}

void KernelChecker::grid_met(const Block& block) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(block);
  settle(running, block);
  tell_unwritten(running, block);
  running.order.all_met(next());
  running.order.grid_met(next());
}

void KernelChecker::not_in_mask(const Block& block, unsigned mask, const Site& site) {
  if (is_ignored(line_of_site(site)) || !findings_.is_new(Cause::kWarp, key_of(site), 1)) return;
  findings_.print(
      Cause::kWarp,
      fmt::format("{}: {} calls {} with the mask 0x{:08x}, which does not name its lane",
                  line_of_site(site), here(block), site.what, mask));
}

void KernelChecker::incomplete(const Block& block, unsigned warp, unsigned mask, unsigned came,
                               const Site& site) {
  if (is_ignored(line_of_site(site)) || !findings_.is_new(Cause::kWarp, key_of(site), 2)) return;
  findings_.print(
      Cause::kWarp,
      fmt::format(
          "{}: warp {} of block {} of {} calls {} with the mask 0x{:08x}, but only the lanes "
          "0x{:08x} come to it; the others wait elsewhere",
          line_of_site(site), warp, text_of(block.place()), block.launch().kernel.name, site.what,
          mask, came));
}

void KernelChecker::absent_lane(const Block& block, unsigned lane, const Site& site) {
  if (is_ignored(line_of_site(site)) || !findings_.is_new(Cause::kWarp, key_of(site), 3)) return;
  findings_.print(Cause::kWarp,
                  fmt::format("{}: {} reads in {} the value of lane {}, which took no part",
                              line_of_site(site), here(block), site.what, lane));
}

void KernelChecker::memory_changed(const void* begin, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  shadow_.for_cells(reinterpret_cast<std::uintptr_t>(begin), bytes,
                    [](Cell& cell, std::size_t /*step*/) { cell = {}; });
  for (auto& [block, running] : running_) running->cache.fill({});
}

void KernelChecker::note_shared(const char* at, std::size_t bytes, const char* name,
                                std::size_t element) {
  const Block* block = Block::current();
  if (block == nullptr) return;
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(*block);
  for (const Shared& one : running.shared)
    if (one.begin == at) return;
  running.shared.push_back({at, at + bytes, name, element});
  running.cache.fill({});
}

void KernelChecker::note_arguments(std::vector<Argument> arguments) {
  const std::scoped_lock lock(mutex_);
  arguments_ = std::move(arguments);
}

// ---- accesses ----

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

bool KernelChecker::is_new(Cause cause, std::uintptr_t code, std::uintptr_t other) {
  if (!seen_.emplace(cause, code, other).second) return false;
  const std::string line = line_of(code);
  const std::string second = other == 0 ? std::string() : line_of(other);
  if (is_ignored(line) || is_ignored(second)) return false;
  return findings_.is_new(cause, key_of(line), other == 0 ? 0 : key_of(second));
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
  check_cells(running, block, *known, at, bytes, flags, site_of(code));
  return std::nullopt;
}

void KernelChecker::check_cells(Running& running, const Block& block, const Known& known,
                                const char* at, std::size_t bytes, unsigned flags,
                                std::uint32_t site) {
  const unsigned thread = block.thread();
  const Order& order = running.order;
  // A volatile access of global memory is how programs wait for other blocks.
  const bool atomic =
      (flags & kAtomic) != 0 || ((flags & kVolatile) != 0 && known.kind == Kind::kGlobal);
  const bool writes = (flags & kWrite) != 0;
  const bool reads = !writes || (flags & (kAtomic | kStores)) == kAtomic;
  const Access now{who_is(order.block(), thread), stamp_, site, atomic};
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
  Stamp& word = released_[at];
  if (!writes || (flags & (kAtomic | kStores)) == kAtomic) running.order.acquired(thread, word);
  if (!writes) return;
  const Stamp up_to = running.order.released(thread, (flags & kReleases) != 0, next());
  word = std::max(word, up_to);
}

// ---- what is told ----

std::string KernelChecker::name_of(const Running& running, const Block& block,
                                   const char* at) const {
  for (const Shared& one : running.shared)
    if (at >= one.begin && at < one.end)
      return fmt::format("{}[{}] (shared, {} bytes)", one.name,
                         static_cast<std::size_t>(at - one.begin) / one.element,
                         one.end - one.begin);
  const char* dynamic = torchport_cuda_dynamic_shared;
  if (at >= dynamic && at < dynamic + sizeof(torchport_cuda_dynamic_shared))
    return fmt::format("byte {} of the dynamic shared memory of {} bytes", at - dynamic,
                       block.launch().sizes.shared);
  const MemoryMap::Words words = map_.describe(at);
  // The argument that points into the same block, nearest before the address.
  const Argument* nearest = nullptr;
  for (const Argument& one : arguments_) {
    if (one.pointer == nullptr || one.pointer > at || one.pointer < words.begin ||
        one.pointer > words.end)
      continue;
    if (nearest == nullptr || one.pointer > nearest->pointer) nearest = &one;
  }
  std::string text;
  if (nearest != nullptr && words.begin != nullptr)
    text = fmt::format("{}[{}]", nearest->name,
                       static_cast<std::size_t>(at - nearest->pointer) / nearest->element);
  if (words.name.empty()) return text.empty() ? fmt::format("address {}", fmt::ptr(at)) : text;
  if (words.begin == nullptr) return words.name;
  std::string where = at < words.end ? fmt::format("byte {}", at - words.begin)
                                     : fmt::format("{} bytes behind the end", at - words.end);
  if (text.empty()) return fmt::format("{} of {}", where, words.name);
  return fmt::format("{} ({} of {})", text, where, words.name);
}

std::optional<KernelChecker::Ends> KernelChecker::nothing_there(Running& running,
                                                                const Block& block, const char* at,
                                                                std::size_t bytes, unsigned flags,
                                                                std::uintptr_t code) {
  const MemoryMap::Words words = map_.describe(at);
  const Cause cause = words.freed ? Cause::kUseAfterFree : Cause::kOutOfBounds;
  if (is_new(cause, code))
    findings_.print(cause, fmt::format("{}: {} {} {} byte{}: {}", line_of(code), here(block),
                                       (flags & kWrite) != 0 ? "writes" : "reads", bytes,
                                       bytes == 1 ? "" : "s", name_of(running, block, at)));
  // What is read is not changed; a write would reach memory of others.
  if ((flags & kWrite) == 0) return std::nullopt;
  return Ends{kIllegalAddress};
}

void KernelChecker::tell_unwritten(Running& running, const Block& block) {
  for (const Unwritten& one : running.unwritten)
    if (is_new(Cause::kUninitialised, one.code))
      findings_.print(
          Cause::kUninitialised,
          fmt::format("{}: {} of block {} of {} reads {}, which no thread of the block has written",
                      line_of(one.code), thread_words(block, one.thread), text_of(block.place()),
                      block.launch().kernel.name, name_of(running, block, one.at)));
  running.unwritten.clear();
}

void KernelChecker::settle(Running& running, const Block& block) {
  Pending& pending = running.pending;
  if (pending.bytes == 0) return;
  const std::size_t bytes = std::exchange(pending.bytes, 0);
  if (std::memcmp(pending.before.data(), pending.at, bytes) == 0) return;
  race(running, block, pending.kind, pending.at, pending.one, true, pending.other, true);
}

void KernelChecker::race(Running& running, const Block& block, Kind kind, const char* at,
                         const Access& one, bool writes, const Access& other, bool other_writes) {
  const std::uintptr_t code = sites_[one.site];
  const std::uintptr_t before = sites_[other.site];
  std::erase_if(running.unwritten, [&](const Unwritten& unwritten) {
    return at >= unwritten.at && at < unwritten.at + unwritten.bytes &&
           (unwritten.code == code || unwritten.code == before);
  });
  const bool read_of_atomic = one.atomic != other.atomic && !(one.atomic ? other_writes : writes);
  if (read_of_atomic) {
    const std::uint32_t read = one.atomic ? other.site : one.site;
    if (reads_of_atomics_.contains({one.site, other.site})) return;
    ReadOfAtomic& kept = reads_of_atomics_[{one.site, other.site}];
    kept = {read, code, before, {}, {}};
    words_of_race(running, block, kind, at, one, writes, other, other_writes, kept.text, kept.end);
    return;
  }
  // Each pair of lines once, whichever comes first.
  if (!is_new(Cause::kRace, std::min(code, before), std::max(code, before))) return;
  std::string text;
  std::string end;
  words_of_race(running, block, kind, at, one, writes, other, other_writes, text, end);
  findings_.print(Cause::kRace, line_of(code) + text + line_of(before) + end);
}

void KernelChecker::tell_reads_of_atomics() {
  for (const auto& [sites, one] : reads_of_atomics_)
    if (!begins_loop_.contains(one.read) &&
        is_new(Cause::kRace, std::min(one.code, one.other), std::max(one.code, one.other)))
      findings_.print(Cause::kRace, line_of(one.code) + one.text + line_of(one.other) + one.end);
  reads_of_atomics_.clear();
}

void KernelChecker::words_of_race(Running& running, const Block& block, Kind kind, const char* at,
                                  const Access& one, bool writes, const Access& other,
                                  bool other_writes, std::string& text, std::string& end) {
  const bool same_block = block_of(one.who) == block_of(other.who);
  const unsigned thread = thread_of(one.who);
  const unsigned other_thread = thread_of(other.who);
  std::string whose = thread_words(block, other_thread);
  if (!same_block)
    whose += fmt::format(" of block {}",
                         text_of(place_in(block_of(other.who), block.launch().sizes.grid)));
  std::string advice = "blocks of a launch are not ordered";
  if (same_block)
    advice = thread / Order::kLanes == other_thread / Order::kLanes
                 ? "no __syncwarp() or __syncthreads() is between them"
                 : "no __syncthreads() is between them";
  else if (kind == Kind::kShared)
    advice = "no barrier of the cluster is between them";
  const char* does = one.atomic ? "changes atomically" : (writes ? "writes" : "reads");
  const char* did = other.atomic ? "changed atomically" : (other_writes ? "wrote" : "read");
  text = fmt::format(": {} of block {} of {} {} {}, which {} {} at ", thread_words(block, thread),
                     text_of(block.place()), block.launch().kernel.name, does,
                     name_of(running, block, at), whose, did);
  end = "; " + advice;
}

void KernelChecker::beyond_array(const std::string& what, const std::string& line) {
  const Block* block = Block::current();
  if (block == nullptr || !block->runs_kernel()) return;
  const std::scoped_lock lock(mutex_);
  if (is_ignored(line) || !findings_.is_new(Cause::kOutOfBounds, key_of(line))) return;
  findings_.print(Cause::kOutOfBounds, fmt::format("{}: {} uses {}", line, here(*block), what));
}

void KernelChecker::misaligned(const std::string& what, const std::string& line) {
  Block* block = Block::current();
  if (block == nullptr || !block->runs_kernel()) return;
  if (!is_ignored(line) && findings_.is_new(Cause::kMisaligned, key_of(line)))
    findings_.print(Cause::kMisaligned, fmt::format("{}: {} uses {}", line, here(*block), what));
  block->fail(kMisaligned, "");
}

}  // namespace torchport::cuda::check
