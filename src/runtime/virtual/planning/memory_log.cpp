#include "runtime/virtual/planning/memory_log.h"

#include <algorithm>

namespace torchport::vdev {

namespace {

// Both intervals in one.
void join_intervals(MemoryMoment& first, const MemoryMoment& second) {
  const std::uint64_t reserved = std::max(first.reserved, second.reserved);
  if (second.allocated > first.allocated) first = second;
  first.reserved = reserved;
}

std::vector<HeldBlock> live_blocks(const std::unordered_map<std::uint64_t, HeldBlock>& blocks) {
  std::vector<HeldBlock> result;
  result.reserve(blocks.size());
  for (const auto& [address, block] : blocks) result.push_back(block);
  return result;
}

}  // namespace

void MemoryTimeline::add(const MemoryMoment& moment) {
  if (!moments_.empty() && in_last_ < length_) {
    join_intervals(moments_.back(), moment);
    ++in_last_;
    return;
  }
  if (moments_.size() >= most_) halve();
  moments_.push_back(moment);
  in_last_ = 1;
}

void MemoryTimeline::halve() {
  for (std::size_t i = 0; i + 1 < moments_.size(); i += 2) {
    join_intervals(moments_[i], moments_[i + 1]);
    moments_[i / 2] = moments_[i];
  }
  moments_.resize(moments_.size() / 2);
  length_ *= 2;
}

void MemoryLog::taken(std::uint64_t address, const HeldBlock& block, std::uint64_t reserved) {
  given_back(address);  // a block that went without a word
  if (block.bytes == 0) return;
  if (events_.size() >= most_events_) play_older_half();
  reserved_ = reserved;
  most_reserved_ = std::max(most_reserved_, reserved);
  live_[address] = {played_.now.event + events_.size(), block.bytes};
  events_.push_back({address, reserved, block});
  held_ += block.bytes;
  if (held_ <= most_held_) return;
  most_held_ = held_;
  at_most_ = played_.now.event + events_.size();
}

void MemoryLog::given_back(std::uint64_t address) {
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  if (events_.size() >= most_events_) play_older_half();
  held_ -= found->second.bytes;
  live_.erase(found);
  events_.push_back({address, reserved_, {}});
}

void MemoryLog::mark(std::uint64_t address, Holds holds) {
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  if (found->second.event >= played_.now.event) {
    events_[found->second.event - played_.now.event].block.holds = holds;
    return;
  }
  HeldBlock& block = played_.blocks.at(address);
  played_.now.held[static_cast<std::size_t>(block.holds)] -= block.bytes;
  block.holds = holds;
  played_.now.held[static_cast<std::size_t>(block.holds)] += block.bytes;
}

std::optional<Holds> MemoryLog::holds(std::uint64_t address) const {
  const auto found = live_.find(address);
  if (found == live_.end()) return std::nullopt;
  if (found->second.event >= played_.now.event)
    return events_[found->second.event - played_.now.event].block.holds;
  return played_.blocks.at(address).holds;
}

void MemoryLog::ran_out() {
  if (!ran_out_at_) ran_out_at_ = played_.now.event + events_.size();
}

void MemoryLog::play(Played& played, const Event& event) const {
  MemoryMoment& now = played.now;
  if (event.block.bytes == 0) {
    const auto gone = played.blocks.find(event.address);
    now.held[static_cast<std::size_t>(gone->second.holds)] -= gone->second.bytes;
    now.allocated -= gone->second.bytes;
    played.blocks.erase(gone);
  } else {
    now.held[static_cast<std::size_t>(event.block.holds)] += event.block.bytes;
    now.allocated += event.block.bytes;
    played.blocks[event.address] = event.block;
  }
  now.reserved = event.reserved;
  ++now.event;
  played.timeline.add(now);
  if (now.event == at_most_) {
    played.most = now;
    played.at_most = live_blocks(played.blocks);
  }
  if (now.event == ran_out_at_) played.at_ran_out = live_blocks(played.blocks);
}

void MemoryLog::play_older_half() {
  const std::size_t half = (events_.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) play(played_, events_[i]);
  events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(half));
}

MemoryLog::Told MemoryLog::told() const {
  Played all = played_;
  for (const Event& event : events_) play(all, event);
  return {.events = all.now.event,
          .most_reserved = most_reserved_,
          .most = all.most,
          .at_most = std::move(all.at_most),
          .ran_out_at = ran_out_at_,
          .at_ran_out = std::move(all.at_ran_out),
          .timeline = all.timeline.moments()};
}

}  // namespace torchport::vdev
