// The figures of the memory model and its snapshots.
#include <algorithm>

#include "runtime/device/memory_blocks.h"
#include "runtime/device/memory_model.h"

namespace torchport::device {

namespace {

void reset_peak_of(PoolStat& stat) {
  for (Stat& part : stat.of) part.peak = part.current;
}
void reset_accumulated_of(PoolStat& stat) {
  for (Stat& part : stat.of) part.allocated = part.freed = 0;
}

template <class Function>
void for_all(MemoryStats& stats, Function function) {
  for (PoolStat* stat : {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split,
                         &stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
                         &stats.inactive_split_bytes, &stats.requested_bytes})
    function(*stat);
}

}  // namespace

void Stat::add(std::int64_t amount) {
  current += amount;
  peak = std::max(peak, current);
  allocated += amount;
}
void Stat::subtract(std::int64_t amount) {
  current -= amount;
  freed += amount;
}
void PoolStat::change(bool small, std::int64_t amount) {
  if (amount > 0) add(small, amount);
  if (amount < 0) subtract(small, -amount);
}
void PoolStat::add(bool small, std::int64_t amount) {
  of[kAll].add(amount);
  of[small ? kSmall : kLarge].add(amount);
}
void PoolStat::subtract(bool small, std::int64_t amount) {
  of[kAll].subtract(amount);
  of[small ? kSmall : kLarge].subtract(amount);
}

void MemoryModel::reset_peak() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for_all(stats_, reset_peak_of);
  for (Stat* stat : {&stats_.oversize_allocations, &stats_.oversize_segments})
    stat->peak = stat->current;
}

void MemoryModel::reset_accumulated() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for_all(stats_, reset_accumulated_of);
  for (Stat* stat : {&stats_.oversize_allocations, &stats_.oversize_segments})
    stat->allocated = stat->freed = 0;
  stats_.alloc_retries = stats_.ooms = stats_.device_allocs = stats_.device_frees = 0;
}

MemoryStats MemoryModel::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

SegmentView MemoryModel::view_of(const Block* first) const {
  SegmentView segment{first->address, 0, first->stream, first->small(), {}, {}};
  if (first->pool->owner != nullptr) segment.pool = first->pool->owner->id;
  for (const Block* block = first; block != nullptr && block->mapped; block = block->next) {
    segment.size += block->size;
    segment.blocks.push_back({block->address, block->size, block->requested, block->allocated});
  }
  return segment;
}

std::vector<SegmentView> MemoryModel::snapshot() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<SegmentView> segments;
  for (const auto& [address, first] : blocks_) {
    if (first->is_first()) segments.push_back(view_of(first.get()));
  }
  std::sort(segments.begin(), segments.end(),
            [](const SegmentView& a, const SegmentView& b) { return a.address < b.address; });
  return segments;
}

}  // namespace torchport::device
