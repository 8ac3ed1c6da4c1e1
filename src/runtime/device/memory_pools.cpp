// The private pools of the memory model: those of CUDA graphs and of torch.cuda.MemPool.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "runtime/device/memory_blocks.h"

namespace torchport::device {

namespace {

constexpr PoolId kEverybody{};

}  // namespace

MemoryModel::Pool& MemoryModel::pool_for(std::uint64_t size, std::int64_t stream) {
  const bool small = is_small(size);
  for (const auto& [id, takes] : taking_) {
    if (!takes(stream)) continue;
    PrivatePool& own = *private_pools_.at(id);
    return small ? own.small : own.large;
  }
  return small ? small_ : large_;
}

MemoryModel::Block* MemoryModel::find_in_spare_pools(std::int64_t stream, std::uint64_t size) {
  for (const auto& [id, pool] : private_pools_) {
    if (!pool->for_a_full_device) continue;
    if (Block* block = find_free(is_small(size) ? pool->small : pool->large, stream, size))
      return block;
  }
  return nullptr;
}

void MemoryModel::give_back_cached(PoolId only) {
  if (only == kEverybody) {
    give_back_cached(large_);
    give_back_cached(small_);
  }
  for (auto at = private_pools_.begin(); at != private_pools_.end();) {
    PrivatePool& pool = *at->second;
    const bool is_meant = only == kEverybody || only == at->first;
    if (!is_meant || pool.users > 0) {
      ++at;
      continue;
    }
    give_back_cached(pool.small);
    give_back_cached(pool.large);
    at = pool.segments == 0 ? private_pools_.erase(at) : std::next(at);
  }
}

void MemoryModel::use_pool(PoolId id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [found, fresh] = private_pools_.try_emplace(id);
  if (fresh) {
    found->second = std::make_unique<PrivatePool>(id, nodes_);
  } else {
    ++found->second->users;
  }
}

bool MemoryModel::release_pool(PoolId id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = private_pools_.find(id);
  if (found == private_pools_.end() || found->second->users == 0) return false;
  --found->second->users;
  return true;
}

std::optional<int> MemoryModel::pool_users(PoolId id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = private_pools_.find(id);
  if (found == private_pools_.end()) return std::nullopt;
  return found->second->users;
}

void MemoryModel::use_pool_when_full(PoolId id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = private_pools_.find(id);
  if (found != private_pools_.end()) found->second->for_a_full_device = true;
}

void MemoryModel::let_pool_take_from(PoolId id, SegmentSource source) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = private_pools_.find(id);
  if (found != private_pools_.end()) found->second->source = std::move(source);
}

void MemoryModel::keep_pool_whole(PoolId id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = private_pools_.find(id);
  if (found != private_pools_.end()) found->second->whole = true;
}

bool MemoryModel::begin_pool(PoolId id, TakesFrom takes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto is_this = [&](const auto& one) { return one.first == id; };
    if (std::any_of(taking_.begin(), taking_.end(), is_this)) return false;
  }
  use_pool(id);
  const std::lock_guard<std::mutex> lock(mutex_);
  taking_.emplace_back(id, std::move(takes));
  pools_taken_from_ = taking_.size();
  return true;
}

bool MemoryModel::end_pool(PoolId id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto ended = std::erase_if(taking_, [&](const auto& one) { return one.first == id; });
  pools_taken_from_ = taking_.size();
  return ended > 0;
}

std::optional<PoolId> MemoryModel::pool_of(std::uint64_t address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || !found->second->allocated) return std::nullopt;
  const PrivatePool* owner = found->second->pool->owner;
  return owner == nullptr ? std::nullopt : std::optional(owner->id);
}

std::optional<PoolState> MemoryModel::pool_state(PoolId id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!private_pools_.contains(id)) return std::nullopt;
  PoolState state{id, {}};
  for (const auto& [address, first] : blocks_) {
    if (first->is_first() && first->pool->owner != nullptr && first->pool->owner->id == id)
      state.segments.push_back(view_of(first.get()));
  }
  return state;
}

// As setCheckpointPoolState() of the real allocator: everything in the pool is freed, then the
// blocks of the state are cut out of the segments, which are whole now, and handed out.
std::optional<PoolChange> MemoryModel::set_pool_state(const PoolState& state) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto pool = private_pools_.find(state.id);
  if (pool == private_pools_.end()) return std::nullopt;
  std::unordered_map<std::uint64_t, Block*> firsts;
  std::vector<std::uint64_t> in_use;
  for (const auto& [address, block] : blocks_) {
    if (block->pool->owner != pool->second.get()) continue;
    if (block->is_first()) firsts.emplace(address, block.get());
    if (block->allocated) in_use.push_back(address);
  }
  for (const SegmentView& segment : state.segments) {
    if (!firsts.contains(segment.address)) return std::nullopt;
  }
  PoolChange change{std::move(in_use), {}};
  for (const std::uint64_t address : change.freed) take_back(blocks_.at(address).get());
  for (const SegmentView& segment : state.segments) {
    Block* block = blocks_.at(segment.address).get();
    for (const BlockView& wanted : segment.blocks) {
      block->pool->free.erase(block);
      if (wanted.size < block->size) {
        // Free parts of a segment count from the first cut on.
        const bool was_whole = !block->is_split();
        stats_.inactive_split.add(block->small(), was_whole ? 2 : 1);
        if (was_whole) stats_.inactive_split_bytes.add(block->small(), signed_of(block->size));
        split(block, wanted.size);
      }
      Block* next = block->next;
      if (wanted.allocated) {
        if (block->is_split()) {
          stats_.inactive_split.subtract(block->small(), 1);
          stats_.inactive_split_bytes.subtract(block->small(), signed_of(block->size));
        }
        hand_out(block, block->size, wanted.requested);
        change.allocated.push_back(block->address);
      } else {
        insert_free(block);
      }
      block = next;
    }
  }
  return change;
}

}  // namespace torchport::device
