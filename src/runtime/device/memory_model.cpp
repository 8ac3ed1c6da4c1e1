#include "runtime/device/memory_model.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "devices/profile.h"
#include "runtime/device/memory_blocks.h"

namespace torchport::device {

namespace {

using devices::kMiB;

constexpr std::uint64_t kMinBlock = 512;            // all sizes are rounded to at least this
constexpr std::uint64_t kSmallSegment = 2 * kMiB;   // of the small pool
constexpr std::uint64_t kLargeSegment = 20 * kMiB;  // for requests of 1 to 10 MiB
constexpr std::uint64_t kMinOwnSegment = 10 * kMiB;
constexpr std::uint64_t kSegmentRounding = 2 * kMiB;

std::uint64_t segment_size(std::uint64_t size) {
  if (is_small(size)) return kSmallSegment;
  if (size < kMinOwnSegment) return kLargeSegment;
  return (size + kSegmentRounding - 1) / kSegmentRounding * kSegmentRounding;
}

}  // namespace

bool MemoryModel::ByStreamAndSize::operator()(const Block* a, const Block* b) const {
  if (a->stream != b->stream) return a->stream < b->stream;
  if (a->size != b->size) return a->size < b->size;
  return a->address < b->address;
}

bool MemoryModel::ByStreamAndAddress::operator()(const Block* a, const Block* b) const {
  if (a->stream != b->stream) return a->stream < b->stream;
  return a->address < b->address;
}

MemoryModel::MemoryModel(std::uint64_t base, std::uint64_t total)
    : total_(total), next_address_(base), blocks_(&nodes_) {}
MemoryModel::~MemoryModel() = default;

std::uint64_t MemoryModel::round_size(std::uint64_t bytes) const {
  const std::uint64_t divisions = settings_.divisions(bytes);
  if (divisions > 1 && bytes > kMinBlock * divisions && !std::has_single_bit(bytes)) {
    const std::uint64_t floor = std::bit_floor(bytes);
    const std::uint64_t step = floor / std::bit_floor(divisions);
    return step == 0 ? floor * 2 : (bytes + step - 1) / step * step;
  }
  return std::max(kMinBlock, (bytes + kMinBlock - 1) / kMinBlock * kMinBlock);
}

MemoryModel::Block* MemoryModel::find_free(Pool& pool, std::int64_t stream,
                                           std::uint64_t size) const {
  Block key;
  key.stream = stream;
  key.size = size;
  auto found = pool.free.lower_bound(&key);
  const auto is_there = [&](auto at) { return at != pool.free.end() && (*at)->stream == stream; };
  if (settings_.expandable()) {
    // The best fit is by the size that a block can grow to.
    const auto grown = [](const Block* block) {
      const Block* next = block->next;
      return block->size + (next != nullptr && !next->mapped ? next->size : 0);
    };
    while (is_there(found) && (*found)->is_expandable() && is_there(std::next(found)) &&
           grown(*std::next(found)) < grown(*found))
      ++found;
  } else {
    while (is_there(found) && (*found)->is_expandable()) ++found;
  }
  if (!is_there(found)) return nullptr;
  Block* block = *found;
  const std::uint64_t limit = settings_.largest_split();
  if (size < limit ? block->size >= limit : block->size >= size + settings_.slack_of_unsplit())
    return nullptr;
  pool.free.erase(found);
  return block;
}

bool MemoryModel::fits_device(std::uint64_t size) const {
  return reserved_ + size <= allowed() && reserved_ + unmanaged_ + size <= total_;
}

std::uint64_t MemoryModel::allowed() const {
  return static_cast<std::uint64_t>(fraction_ * static_cast<double>(total_));
}

MemoryModel::Block* MemoryModel::more_memory(Pool& pool, std::int64_t stream, std::uint64_t size) {
  const bool from_device = pool.owner == nullptr || pool.owner->source.take == nullptr;
  return settings_.expandable() && from_device ? expand(pool, stream, size)
                                               : new_segment(pool, stream, segment_size(size));
}

MemoryModel::Block* MemoryModel::new_segment(Pool& pool, std::int64_t stream, std::uint64_t size) {
  const bool from_device = pool.owner == nullptr || pool.owner->source.take == nullptr;
  if (from_device && !fits_device(size)) return nullptr;
  if (!from_device && !pool.owner->source.take(next_address_, size, stream)) return nullptr;
  auto block = std::make_unique<Block>();
  block->address = next_address_;
  block->size = size;
  block->stream = stream;
  block->pool = &pool;
  // A gap keeps neighbouring segments apart.
  next_address_ +=
      (size + kSegmentRounding - 1) / kSegmentRounding * kSegmentRounding + kSegmentRounding;
  set_reserved(reserved_ + size);
  if (pool.owner != nullptr) ++pool.owner->segments;
  ++stats_.device_allocs;
  stats_.segment.add(pool.small, 1);
  stats_.reserved_bytes.add(pool.small, signed_of(size));
  if (size >= settings_.largest_split()) stats_.oversize_segments.add(1);
  tell(MemoryAction::kSegmentAlloc, block->address, size, stream);
  Block* raw = block.get();
  blocks_.emplace(raw->address, std::move(block));
  return raw;
}

std::optional<std::uint64_t> MemoryModel::allocate(std::uint64_t bytes, std::int64_t stream,
                                                   OutOfMemory& failure) {
  if (bytes == 0) return 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (drivers_pool_) return allocate_in_drivers_pool(bytes, failure);
  const std::uint64_t size = round_size(bytes);
  Pool& pool = pool_for(size, stream);
  if (collects()) ++pool.searches;
  Block* block = find_free(pool, stream, size);
  if (block == nullptr && collects()) collect_unused();
  if (block == nullptr) block = more_memory(pool, stream, size);
  if (block == nullptr && give_back_oversize(pool, stream, size))
    block = more_memory(pool, stream, size);
  // Memory is not given back while a graph may be captured.
  if (block == nullptr && taking_.empty()) {
    ++stats_.alloc_retries;
    give_back_cached(PoolId{});
    block = more_memory(pool, stream, size);
  }
  if (block == nullptr && taking_.empty()) block = find_in_spare_pools(stream, size);
  if (block == nullptr) {
    failure = out_of_memory(segment_size(size), stream);
    return std::nullopt;
  }
  split_off(block, size);
  hand_out(block, block->size, bytes);
  return block->address;
}

void MemoryModel::hand_out(Block* block, std::uint64_t size, std::uint64_t requested) {
  const bool small = block->small();
  block->allocated = true;
  block->requested = requested;
  stats_.allocation.add(small, 1);
  stats_.active.add(small, 1);
  stats_.allocated_bytes.add(small, signed_of(size));
  stats_.active_bytes.add(small, signed_of(size));
  stats_.requested_bytes.add(small, signed_of(requested));
  if (size >= settings_.largest_split()) stats_.oversize_allocations.add(1);
  tell(MemoryAction::kAlloc, block->address, requested, block->stream);
}

OutOfMemory MemoryModel::out_of_memory(std::uint64_t size, std::int64_t stream) {
  ++stats_.ooms;
  tell(MemoryAction::kOutOfMemory, 0, size, stream);
  OutOfMemory failure{size,
                      total_,
                      total_ - reserved_ - unmanaged_,
                      static_cast<std::uint64_t>(stats_.allocated_bytes.of[PoolStat::kAll].current),
                      reserved_,
                      std::nullopt,
                      0};
  for (const auto& [id, pool] : private_pools_) {
    for (const Pool* part : {&pool->small, &pool->large}) {
      for (const Block* block : part->free) failure.in_private_pools += block->size;
    }
  }
  if (fraction_ < 1) failure.allowed = allowed();
  return failure;
}

// Takes `size` bytes of a free block that left its pool, and makes a free block of the rest if the
// rest is large enough.
void MemoryModel::split_off(Block* block, std::uint64_t size) {
  const bool small = block->small();
  const std::uint64_t remaining = block->size - size;
  const bool whole = block->pool->owner != nullptr && block->pool->owner->whole;
  const bool splits = !whole && (small || settings_.expandable()
                                     ? remaining >= kMinBlock
                                     : remaining > kSmallSize && size < settings_.largest_split());
  if (block->is_expandable()) {
    // Its free parts are not counted.
  } else if (block->is_split()) {
    // A free part of a segment shrinks, or is taken completely.
    if (!splits) stats_.inactive_split.subtract(small, 1);
    stats_.inactive_split_bytes.subtract(small, signed_of(splits ? size : block->size));
  } else if (splits) {
    stats_.inactive_split.add(small, 1);
    stats_.inactive_split_bytes.add(small, signed_of(remaining));
  }
  if (splits) split(block, size);
}

// Shrinks the block to `size` bytes, and makes a free block of the rest.
void MemoryModel::split(Block* block, std::uint64_t size) {
  Block* rest = cut(block, size);
  rest->requested = block->requested;  // a free block keeps what was requested before
  insert_free(rest);
}

void MemoryModel::insert_free(Block* block) {
  block->free_since = block->pool->searches;
  block->pool->free.insert(block);
}

// Shrinks the block to `size` bytes, and makes a block of the rest that is in no set yet.
MemoryModel::Block* MemoryModel::cut(Block* block, std::uint64_t size) {
  auto rest = std::make_unique<Block>();
  rest->address = block->address + size;
  rest->size = block->size - size;
  rest->stream = block->stream;
  rest->pool = block->pool;
  rest->mapped = block->mapped;
  rest->segment = block->segment;
  rest->previous = block;
  rest->next = block->next;
  if (rest->next != nullptr) rest->next->previous = rest.get();
  block->next = rest.get();
  block->size = size;
  Block* const raw = rest.get();
  blocks_.emplace(raw->address, std::move(rest));
  return raw;
}

// Merges a free neighbour into the block, which is in no set. Returns whether there was one.
bool MemoryModel::merge(Block* block, Block* other) {
  if (other == nullptr || other->allocated || other->mapped != block->mapped) return false;
  if (other->mapped) {
    block->pool->free.erase(other);
  } else {
    block->pool->unmapped.erase(other);
  }
  const std::uint64_t gone = block->previous == other ? block->address : other->address;
  if (block->previous == other) {
    // The block keeps its place in the list and takes over the neighbour's start.
    block->previous = other->previous;
    if (block->previous != nullptr) block->previous->next = block;
    auto kept = std::move(blocks_[gone]);
    blocks_.erase(gone);
    block->address = other->address;
    block->size += other->size;
    blocks_[block->address] = std::move(kept);  // deletes `other`
    return true;
  }
  block->size += other->size;
  block->next = other->next;
  if (block->next != nullptr) block->next->previous = block;
  blocks_.erase(gone);
  return true;
}

void MemoryModel::free(std::uint64_t address) {
  if (address == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(address);
  if (found != blocks_.end() && found->second->allocated) return take_back(found->second.get());
  if (drivers_pool_ && free_in_drivers_pool(address)) return;
  const auto unmanaged = unmanaged_sizes_.extract(address);
  if (unmanaged.empty()) return;
  unmanaged_ -= unmanaged.mapped();
  set_reserved(reserved_);
}

std::optional<std::uint64_t> MemoryModel::allocate_unmanaged(std::uint64_t bytes) {
  if (bytes == 0) return 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint64_t size = std::max(kMinBlock, (bytes + kMinBlock - 1) / kMinBlock * kMinBlock);
  if (reserved_ + unmanaged_ + size > total_) return std::nullopt;
  const std::uint64_t address = next_address_;
  next_address_ += (size + kSegmentRounding - 1) / kSegmentRounding * kSegmentRounding;
  unmanaged_sizes_.emplace(address, size);
  unmanaged_ += size;
  set_reserved(reserved_);
  return address;
}

void MemoryModel::take_back(Block* block) {
  const bool small = block->small();
  block->allocated = false;
  stats_.allocation.subtract(small, 1);
  stats_.active.subtract(small, 1);
  stats_.allocated_bytes.subtract(small, signed_of(block->size));
  stats_.active_bytes.subtract(small, signed_of(block->size));
  stats_.requested_bytes.subtract(small, signed_of(block->requested));
  if (block->size >= settings_.largest_split()) stats_.oversize_allocations.subtract(1);
  tell(MemoryAction::kFreeRequested, block->address, block->requested, block->stream);
  tell(MemoryAction::kFreeCompleted, block->address, block->requested, block->stream);
  const std::uint64_t own = block->size;
  const bool before = merge(block, block->previous);
  const bool after = merge(block, block->next);
  const int merged = (before ? 1 : 0) + (after ? 1 : 0);
  insert_free(block);
  if (block->is_expandable()) return;
  // Only the net change is counted, as in the real allocator.
  const std::uint64_t taken = block->size - own;
  stats_.inactive_split.change(small, (block->is_split() ? 1 : 0) - merged);
  stats_.inactive_split_bytes.change(
      small, signed_of(block->is_split() ? block->size : 0) - signed_of(taken));
}

void MemoryModel::tell(MemoryAction action, std::uint64_t address, std::uint64_t size,
                       std::int64_t stream) const {
  if (observer_) observer_({action, address, size, stream, total_ - reserved_ - unmanaged_});
}

void MemoryModel::observe(MemoryObserver observer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  observer_ = std::move(observer);
}

void MemoryModel::empty_cache(PoolId pool) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (drivers_pool_) return trim_drivers_pool();
  give_back_cached(pool);
}

void MemoryModel::set_settings(const MemorySettings& settings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  settings_ = settings;
}

void MemoryModel::set_fraction(double fraction) {
  const std::lock_guard<std::mutex> lock(mutex_);
  fraction_ = fraction;
  fraction_was_set_ = true;
}

double MemoryModel::fraction() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return fraction_;
}

void MemoryModel::set_reserved(std::uint64_t bytes) {
  reserved_ = bytes;
  if (published_ != nullptr) published_->store(bytes + unmanaged_, std::memory_order_relaxed);
}

void MemoryModel::publish(std::atomic<std::uint64_t>* reserved) {
  const std::lock_guard lock(mutex_);
  published_ = reserved;
  set_reserved(reserved_);
}

std::uint64_t MemoryModel::device_free() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return total_ - reserved_ - unmanaged_;
}

}  // namespace torchport::device
