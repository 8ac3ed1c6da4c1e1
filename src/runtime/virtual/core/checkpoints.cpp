#include "runtime/virtual/core/checkpoints.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <c10/util/Exception.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/storage_blocks.h"

namespace torchport::vdev {

namespace {

using c10::StorageImpl;
using Entry = PoolBlocks::Entry;

StorageBlock* block_in(const StorageImpl& storage) {
  return block_of(const_cast<StorageImpl&>(storage)._mutable_data_ptr_no_checks());
}

std::vector<std::uint64_t> addresses_in_use(const device::PoolState& state) {
  std::vector<std::uint64_t> result;
  for (const device::SegmentView& segment : state.segments) {
    for (const device::BlockView& block : segment.blocks) {
      if (block.allocated) result.push_back(block.address);
    }
  }
  return result;
}

device::PoolState state_of(c10::DeviceIndex device, device::PoolId pool) {
  auto state = Runtime::get().memory(device).pool_state(pool);
  TORCH_CHECK(state.has_value(), "Could not find pool of id");
  return std::move(*state);
}

// The bytes of the blocks that are in use in a pool.
std::vector<const void*> data_in_use(c10::DeviceIndex device, device::PoolId pool) {
  std::vector<const void*> data;
  for (const std::uint64_t address : addresses_in_use(state_of(device, pool))) {
    if (const auto entry = PoolBlocks::get().at(device, address)) data.push_back(entry->data);
  }
  return data;
}

// Takes what was in use before a return from the storages that own it, unless they do after it.
void disown(const device::PoolChange& change, const Checkpoint& checkpoint) {
  for (const std::uint64_t address : change.freed) {
    const auto before = PoolBlocks::get().at(checkpoint.device, address);
    if (!before) continue;
    const auto now = checkpoint.in_use.find(address);
    const bool same = now != checkpoint.in_use.end() && now->second.data == before->data;
    if (same && before->owner != nullptr) continue;
    if (before->owner != nullptr) {
      before->owner->charged = false;
      before->owner->listed = false;
    }
    PoolBlocks::get().remove(checkpoint.device, address);
  }
}

// The checks of torch._C._cuda_setCheckpointPoolState, before anything changes.
void check_storages(const Checkpoint& checkpoint, const std::unordered_set<StorageImpl*>& stale,
                    const std::vector<StorageImpl*>& owners) {
  std::unordered_set<const void*> in_use;
  for (const auto& [address, entry] : checkpoint.in_use) in_use.insert(entry.data);
  const auto freed = data_in_use(checkpoint.device, checkpoint.state.id);
  const auto definitely = std::count_if(freed.begin(), freed.end(),
                                        [&](const void* data) { return !in_use.contains(data); });
  TORCH_CHECK(stale.size() >= static_cast<std::size_t>(definitely),
              "Any stale tensors which are being manually freed must be passed to set checkpoint");
  for (const StorageImpl* storage : stale) {
    const bool was_freed = std::find(freed.begin(), freed.end(), storage->data()) != freed.end();
    TORCH_CHECK(was_freed && owns_block(*storage),
                "Unexpected deleter function on storage, could not swap function");
  }
  for (const StorageImpl* storage : owners) {
    TORCH_CHECK(!in_use.contains(storage->data()) || !owns_block(*storage),
                " Not expecting deleter function");
  }
}

// Gives the block of an entry to a storage over its bytes.
void own(StorageImpl& storage, const Entry& entry) {
  auto block = std::make_unique<StorageBlock>(StorageBlock{
      entry.twin, entry.device, entry.address, entry.bytes, entry.data, true, false, false});
  list_in_pools(*block);
  storage.set_data_ptr_noswap(pointer_of(std::move(block)));
}

}  // namespace

Checkpoint checkpoint_of(c10::DeviceIndex device, device::PoolId pool) {
  Checkpoint checkpoint{device, state_of(device, pool), {}};
  for (const std::uint64_t address : addresses_in_use(checkpoint.state)) {
    auto entry = PoolBlocks::get().at(device, address);
    if (!entry) continue;
    entry->owner = nullptr;
    checkpoint.in_use.emplace(address, std::move(*entry));
  }
  return checkpoint;
}

void return_to(const Checkpoint& checkpoint, const std::vector<StorageImpl*>& stale,
               const std::vector<StorageImpl*>& owners) {
  device::MemoryModel& memory = Runtime::get().memory(checkpoint.device);
  TORCH_CHECK(memory.pool_users(checkpoint.state.id).has_value(), "Could not find private pool id");
  const std::unordered_set<StorageImpl*> given(stale.begin(), stale.end());
  check_storages(checkpoint, given, owners);
  const auto change = memory.set_pool_state(checkpoint.state);
  TORCH_CHECK(change.has_value(), "could not find a segment of the private pool's state");
  disown(*change, checkpoint);
  for (StorageImpl* storage : stale) {
    StorageBlock& block = *block_in(*storage);
    if (block.listed) unlist_in_pools(block);
    block.charged = false;
  }

  std::unordered_map<const void*, StorageImpl*> by_data;
  for (StorageImpl* storage : owners) by_data[storage->data()] = storage;
  for (const auto& [address, entry] : checkpoint.in_use) {
    const auto owner = by_data.find(entry.data);
    if (owner != by_data.end()) {
      own(*owner->second, entry);
    } else if (!PoolBlocks::get().at(checkpoint.device, address)) {
      PoolBlocks::get().add_without_owner(entry);
    }
  }
}

bool in_use_are(c10::DeviceIndex device, device::PoolId pool,
                const std::unordered_set<const void*>& data) {
  const auto addresses = addresses_in_use(state_of(device, pool));
  if (addresses.size() != data.size()) return false;
  return std::all_of(addresses.begin(), addresses.end(), [&](std::uint64_t address) {
    const auto entry = PoolBlocks::get().at(device, address);
    return entry && data.contains(entry->data);
  });
}

bool free_block(const void* data) {
  const auto entry = PoolBlocks::get().at_data(data);
  if (!entry) return false;
  if (entry->owner != nullptr) {
    give_back(*entry->owner);
    return true;
  }
  PoolBlocks::get().remove(entry->device, entry->address);
  StorageBlock block{entry->twin, entry->device, entry->address, entry->bytes,
                     entry->data, true,          false,          false};
  give_back(block);
  return true;
}

void free_block_of(StorageImpl& storage) {
  StorageBlock* block = block_in(storage);
  TORCH_CHECK(block != nullptr && block->charged, "Expected standard deleter");
  give_back(*block);
}

bool owns_block(const StorageImpl& storage) {
  const StorageBlock* block = block_in(storage);
  return block != nullptr && block->charged;
}

c10::Storage over_same_bytes(const c10::Storage& storage) {
  const StorageBlock* block = block_in(*storage.unsafeGetStorageImpl());
  // Bytes that are copied on write are not yet those that a write goes to.
  if (block == nullptr || block->data == nullptr ||
      storage.data_ptr().get_context() != static_cast<const void*>(block))
    return storage;
  auto alias = std::make_unique<StorageBlock>(*block);
  alias->charged = alias->listed = false;
  alias->alias = true;
  return c10::Storage(c10::make_intrusive<StorageImpl>(
      StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(block->bytes),
      pointer_of(std::move(alias)), device_allocator(), storage.resizable()));
}

c10::Storage over_bytes_at(const void* data, c10::DeviceIndex device, std::uint64_t bytes) {
  auto twin = PoolBlocks::get().twin_at(data);
  if (!twin || twin->nbytes() < bytes) return {};
  const auto listed = PoolBlocks::get().at_data(data);
  const std::uint64_t address = listed ? listed->address : 0;
  auto block = std::make_unique<StorageBlock>(StorageBlock{
      std::move(twin), device, address, bytes, const_cast<void*>(data), false, false, true});
  return c10::Storage(c10::make_intrusive<StorageImpl>(
      StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(bytes),
      pointer_of(std::move(block)), nullptr, false));
}

}  // namespace torchport::vdev
