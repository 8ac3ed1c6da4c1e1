// How the memory model gives segments back to the device: when the cache is emptied, when the
// device is full, and when they were not used for long.
#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/device/memory_blocks.h"

namespace torchport::device {

void MemoryModel::release_segment(Block* block) {
  set_reserved(reserved_ - block->size);
  if (block->pool->owner != nullptr) {
    --block->pool->owner->segments;
    const SegmentSource& source = block->pool->owner->source;
    if (source.give) source.give(block->address, block->size, block->stream);
  }
  ++stats_.device_frees;
  stats_.segment.subtract(block->small(), 1);
  stats_.reserved_bytes.subtract(block->small(), signed_of(block->size));
  if (block->size >= settings_.largest_split()) stats_.oversize_segments.subtract(1);
  tell(MemoryAction::kSegmentFree, block->address, block->size, block->stream);
  blocks_.erase(block->address);
}

// Gives back free blocks that are too large to be split, until there is room for a request.
// Returns whether there is.
bool MemoryModel::give_back_oversize(Pool& pool, std::int64_t stream, std::uint64_t size) {
  const std::uint64_t limit = settings_.largest_split();
  if (limit == std::numeric_limits<std::uint64_t>::max()) return false;
  const std::uint64_t wanted = std::max(size, limit);
  Block key;
  key.stream = stream;
  key.size = wanted;
  auto found = pool.free.lower_bound(&key);
  if (found != pool.free.end() && (*found)->stream == stream) {
    Block* block = *found;
    pool.free.erase(found);
    release_segment(block);
    return true;
  }
  std::uint64_t released = 0;
  while (released < wanted && found != pool.free.begin()) {
    Block* block = *std::prev(found);
    if (block->stream != stream || block->size < limit || block->is_split()) break;
    found = pool.free.erase(std::prev(found));
    released += block->size;
    release_segment(block);
  }
  return released >= wanted;
}

// Whether segments that are not used are given back before the device is full.
bool MemoryModel::collects() const {
  return fraction_was_set_ && settings_.collect_from() > 0;
}

// As garbage_collect_cached_blocks() of the real allocator: gives back segments of everybody's
// large pool, the longest unused first, until as much is reserved as the setting allows.
void MemoryModel::collect_unused() {
  const auto limit =
      static_cast<std::uint64_t>(settings_.collect_from() * static_cast<double>(allowed()));
  if (reserved_ <= limit) return;
  const std::uint64_t target = reserved_ - limit;
  const auto age_of = [&](const Block* block) { return large_.searches - block->free_since; };
  std::uint64_t total_age = 0;
  std::uint64_t count = 0;
  for (const Block* block : large_.free) {
    if (block->is_split()) continue;
    total_age += age_of(block);
    ++count;
  }
  std::uint64_t reclaimed = 0;
  for (bool any = true; any && count > 0 && reclaimed < target;) {
    const double least = static_cast<double>(total_age) / static_cast<double>(count);
    any = false;
    for (auto at = large_.free.begin(); at != large_.free.end();) {
      Block* block = *at;
      if (block->is_split() || block->is_expandable() ||
          static_cast<double>(age_of(block)) < least) {
        ++at;
        continue;
      }
      any = true;
      reclaimed += block->size;
      total_age -= age_of(block);
      --count;
      at = large_.free.erase(at);
      release_segment(block);
    }
  }
}

void MemoryModel::give_back_cached(Pool& pool) {
  std::vector<Block*> expandable;
  for (Block* block : pool.free) {
    if (block->is_expandable()) expandable.push_back(block);
  }
  for (Block* block : expandable) unmap(block);
  for (auto at = pool.free.begin(); at != pool.free.end();) {
    Block* block = *at;
    if (block->is_split() || block->is_expandable()) {
      ++at;
      continue;
    }
    at = pool.free.erase(at);
    release_segment(block);
  }
}

}  // namespace torchport::device
