// Volatile accesses of global memory. Programs wait with them for other blocks, so they count as
// atomic ones; but they order nothing by themselves (CUDA C++ Programming Guide, "Memory Fence
// Functions"). What is a race all the same:
//
//   - two writes of different values that nothing orders;
//   - a word that a line reads, changes and writes, while another thread has written it;
//   - data that was written before a flag without a fence, and is used by a block that has seen the
//     flag.
#include <algorithm>
#include <cstring>

#include "cuda/check/kernel_checker.h"
#include "cuda/check/lines.h"
#include "cuda/device/block.h"

namespace torchport::cuda::check {

namespace {

// Lanes of a warp may count on lockstep in global memory.
bool same_warp(Who one, Who other) {
  return one / Order::kLanes == other / Order::kLanes;
}

}  // namespace

bool KernelChecker::volatile_race(Running& running, const Block& block, const Cell& cell,
                                  const char* at, std::size_t bytes, const Access& now,
                                  bool writes) {
  const Access& write = cell.atomic_write;
  if (!write.is_volatile || write.stamp == 0 || same_warp(write.who, now.who)) return false;
  const unsigned thread = thread_of(now.who);
  if (!writes && block_of(write.who) != block_of(now.who)) {
    const auto flag = running.seen_flags.find(write.who);
    if (flag != running.seen_flags.end() && flag->second.from <= write.stamp &&
        write.stamp < flag->second.to) {
      race(running, block, Kind::kGlobal, at, now, false, write, true);
      return true;
    }
  }
  if (!now.is_volatile) return false;
  const bool is_unordered = !running.order.is_before(write, thread);
  UnorderedRead& read = running.unordered_reads[thread];
  if (!writes) {
    if (is_unordered) read = {at, now.site, write};
    return false;
  }
  if (read.at == at && read.write.stamp == write.stamp && read.write.who == write.who &&
      line_of(sites_[read.site]) == line_of(sites_[now.site])) {
    race(running, block, Kind::kGlobal, at, now, true, write, true);
    return true;
  }
  Pending& pending = running.pending;
  if (is_unordered && pending.bytes == 0 && bytes <= pending.before.size()) {
    pending = {bytes, at, {}, now, write, Kind::kGlobal};
    std::memcpy(pending.before.data(), at, bytes);
  }
  return false;
}

void KernelChecker::learn(Running& running, unsigned thread, const char* at) {
  const auto found = released_.find(at);
  if (found == released_.end()) return;
  const Word& word = found->second;
  running.order.acquired(thread, word.released);
  for (const Who who : word.writers) running.seen_flags.erase(who);
  for (const auto& [who, unfenced] : word.unfenced) running.seen_flags[who] = unfenced;
}

void KernelChecker::note_flag(Running& running, unsigned thread, Word& word, bool reads,
                              bool releases) {
  constexpr std::size_t kMost = 64;
  const Who who = who_is(running.order.block(), thread);
  if (!reads) {
    word.writers.clear();
    word.unfenced.clear();
  }
  std::erase(word.writers, who);
  if (word.writers.size() < kMost) word.writers.push_back(who);
  word.unfenced.erase(who);
  const Stamp from = releases ? 0 : running.order.first_volatile(thread);
  if (from != 0 && word.unfenced.size() < kMost) word.unfenced[who] = {from, stamp_};
}

}  // namespace torchport::cuda::check
