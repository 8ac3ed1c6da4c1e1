// Findings that are known now, and their words.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cuda/check/kernel_checker.h"
#include "cuda/check/lines.h"
#include "cuda/check/words.h"
#include "cuda/device/block.h"
#include "cuda/device/error_codes.h"

namespace torchport::cuda::check {

bool KernelChecker::is_new(Cause cause, std::uintptr_t code, std::uintptr_t other) {
  if (!seen_.emplace(cause, code, other).second) return false;
  const std::string line = line_of(code);
  const std::string second = other == 0 ? std::string() : line_of(other);
  if (is_ignored(line) || is_ignored(second)) return false;
  return findings_.is_new(cause, key_of(line), other == 0 ? 0 : key_of(second));
}

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
  if (const char* word = std::exchange(running.reads, nullptr))
    learn(running, running.reader, word);
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
  if (one.is_volatile || other.is_volatile)
    advice =
        "volatile orders nothing: a barrier, or __threadfence() before what the others wait for";
  const auto changes = [](const Access& access) { return access.atomic && !access.is_volatile; };
  const char* does = changes(one) ? "changes atomically" : (writes ? "writes" : "reads");
  const char* did = changes(other) ? "changed atomically" : (other_writes ? "wrote" : "read");
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

void KernelChecker::arithmetic(const std::string& what, std::uintptr_t code) {
  const Block* block = Block::current();
  if (block == nullptr || !block->runs_kernel()) return;
  const std::scoped_lock lock(mutex_);
  if (is_new(Cause::kArithmetic, code))
    findings_.print(Cause::kArithmetic,
                    fmt::format("{}: {} {}", line_of(code), here(*block), what));
}

void KernelChecker::misaligned(const std::string& what, const std::string& line) {
  Block* block = Block::current();
  if (block == nullptr || !block->runs_kernel()) return;
  if (!is_ignored(line) && findings_.is_new(Cause::kMisaligned, key_of(line)))
    findings_.print(Cause::kMisaligned, fmt::format("{}: {} uses {}", line, here(*block), what));
  block->fail(kMisaligned, "");
}

}  // namespace torchport::cuda::check
