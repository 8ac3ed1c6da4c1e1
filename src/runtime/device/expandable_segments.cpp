// The expandable segments of the memory model (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True): a
// pool of a stream has one range of addresses, larger than the device, to which memory is mapped
// piece by piece. So blocks of any size are neighbours, and free ones can always be merged.
//
// The rules are those of try_allocate_expandable_block(), map_block() and unmap_block() of
// c10/cuda/CUDACachingAllocator.cpp.
#include <algorithm>

#include "runtime/device/memory_blocks.h"

namespace torchport::device {

namespace {

constexpr std::uint64_t kPieceOfSmall = 2 * devices::kMiB;
constexpr std::uint64_t kPieceOfLarge = 20 * devices::kMiB;

std::uint64_t piece_of(bool small) {
  return small ? kPieceOfSmall : kPieceOfLarge;
}

std::uint64_t rounded_up(std::uint64_t offset, std::uint64_t piece) {
  return (offset + piece - 1) / piece * piece;
}

}  // namespace

// Returns a free block of at least `size` bytes that is in no set; null if the device is full.
MemoryModel::Block* MemoryModel::expand(Pool& pool, std::int64_t stream, std::uint64_t size) {
  Block* block = room_to_expand(pool, stream, size);
  if (!block->mapped) {
    block = map(block, std::min(block->size, size));
    if (block == nullptr) return nullptr;
  }
  while (block->size < size) {
    block = map(block->next, std::min(size - block->size, block->next->size));
    if (block == nullptr) return nullptr;
  }
  pool.free.erase(block);
  return block;
}

// The first free block from which on there are `size` bytes that are free or not mapped.
MemoryModel::Block* MemoryModel::room_to_expand(Pool& pool, std::int64_t stream,
                                                std::uint64_t size) {
  const auto is_free = [](const Block* block) { return block != nullptr && !block->allocated; };
  const auto has_room = [&](const Block* block) {
    std::uint64_t bytes = 0;
    for (; bytes < size && is_free(block); block = block->next) bytes += block->size;
    return bytes >= size;
  };
  for (Block* block : pool.unmapped) {
    if (block->stream != stream) continue;
    if (is_free(block->previous) && has_room(block->previous)) return block->previous;
    if (has_room(block)) return block;
  }
  return new_expandable(pool, stream);
}

MemoryModel::Block* MemoryModel::new_expandable(Pool& pool, std::int64_t stream) {
  // More than the device, because pieces in the middle may be unmapped.
  const std::uint64_t size = rounded_up(total_ + total_ / 8, piece_of(pool.small));
  auto block = std::make_unique<Block>();
  block->address = block->segment = next_address_;
  block->size = size;
  block->stream = stream;
  block->pool = &pool;
  block->mapped = false;
  next_address_ += rounded_up(size, kPieceOfSmall) + kPieceOfSmall;
  if (pool.owner != nullptr) ++pool.owner->segments;
  Block* const raw = block.get();
  blocks_.emplace(raw->address, std::move(block));
  pool.unmapped.insert(raw);
  return raw;
}

// Maps the first `size` bytes of a block, rounded to pieces, and merges it with free neighbours.
// Returns the free block; null if the device is full.
MemoryModel::Block* MemoryModel::map(Block* block, std::uint64_t size) {
  Pool& pool = *block->pool;
  const std::uint64_t mapped = std::min(rounded_up(size, piece_of(pool.small)), block->size);
  if (!fits_device(mapped)) return nullptr;
  pool.unmapped.erase(block);
  if (mapped < block->size) pool.unmapped.insert(cut(block, mapped));
  block->mapped = true;
  set_reserved(reserved_ + mapped);
  ++stats_.device_allocs;
  stats_.reserved_bytes.add(pool.small, signed_of(mapped));
  tell(MemoryAction::kSegmentMap, block->address, mapped, block->stream);
  merge(block, block->previous);
  merge(block, block->next);
  insert_free(block);
  return block;
}

// Gives the whole pieces of a free block back.
void MemoryModel::unmap(Block* block) {
  Pool& pool = *block->pool;
  const std::uint64_t piece = piece_of(pool.small);
  const std::uint64_t offset = block->address - block->segment;
  const std::uint64_t begin = rounded_up(offset, piece);
  const std::uint64_t end = (offset + block->size) / piece * piece;
  if (begin >= end) return;
  pool.free.erase(block);
  if (begin > offset) {
    Block* const rest = cut(block, begin - offset);
    insert_free(block);
    block = rest;
  }
  if (end - begin < block->size) insert_free(cut(block, end - begin));
  block->mapped = false;
  set_reserved(reserved_ - block->size);
  ++stats_.device_frees;
  stats_.reserved_bytes.subtract(pool.small, signed_of(block->size));
  tell(MemoryAction::kSegmentUnmap, block->address, block->size, block->stream);
  merge(block, block->previous);
  merge(block, block->next);
  if (block->is_split()) {
    pool.unmapped.insert(block);
    return;
  }
  if (pool.owner != nullptr) --pool.owner->segments;
  blocks_.erase(block->address);
}

}  // namespace torchport::device
