// Checkpoints of private pools, for CUDA graph trees (torch/_inductor/cudagraph_trees.py).
//
// A tree records graphs that share one pool. Before it records a branch, it returns the pool to
// where it was at the branching: blocks of other branches become free, and those that were in use
// then are in use again, although their tensors may be gone. The functions are those of
// torch/csrc/cuda/Module.cpp, with its checks.
//
// REQUIRES of all functions: no other thread frees or makes tensors of that pool meanwhile.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <c10/core/Storage.h>
#include <c10/core/StorageImpl.h>

#include "runtime/device/memory_model.h"
#include "runtime/virtual/core/pool_blocks.h"

namespace torchport::vdev {

// What of a pool was in use, with its bytes.
struct Checkpoint {
  c10::DeviceIndex device = 0;
  device::PoolState state{};
  std::unordered_map<std::uint64_t, PoolBlocks::Entry> in_use{};  // by address
};

// Raises c10::Error if there is no such pool.
[[nodiscard]] Checkpoint checkpoint_of(c10::DeviceIndex device, device::PoolId pool);

// Returns a pool to a checkpoint. Storages of `stale` no longer free their blocks. Those of
// `owners` own the block with their bytes again; other blocks in use have no owner, and
// free_block() frees them. Raises c10::Error if a segment of the checkpoint is gone, if `stale` is
// incomplete, or if an owner owns a block already.
void return_to(const Checkpoint& checkpoint, const std::vector<c10::StorageImpl*>& stale,
               const std::vector<c10::StorageImpl*>& owners);

// Whether exactly the blocks with these bytes are in use in a pool. Raises c10::Error if there is
// no such pool.
[[nodiscard]] bool in_use_are(c10::DeviceIndex device, device::PoolId pool,
                              const std::unordered_set<const void*>& data);

// Frees the block of a private pool that has these bytes. Returns false if there is none.
[[nodiscard]] bool free_block(const void* data);

// Frees the block of a storage, which lives on and keeps the bytes. Raises c10::Error if it has no
// block.
void free_block_of(c10::StorageImpl& storage);

// Whether the storage frees a block at its end.
[[nodiscard]] bool owns_block(const c10::StorageImpl& storage);

// A storage over the bytes of another one, which keeps them and owns no block.
[[nodiscard]] c10::Storage over_same_bytes(const c10::Storage& storage);

// The same over bytes that a tensor of a pool has or had; no storage if nobody keeps them.
[[nodiscard]] c10::Storage over_bytes_at(const void* data, c10::DeviceIndex device,
                                         std::uint64_t bytes);

}  // namespace torchport::vdev
