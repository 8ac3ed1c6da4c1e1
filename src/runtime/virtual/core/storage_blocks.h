// The accounts of device storages, for the files that move them between storages.
//
// A storage's data pointer has a StorageBlock as its context. Usually the two live and die
// together. Checkpoints of private pools (checkpoints.h) take blocks from storages and give them
// others, as the real allocator does.
#pragma once

#include <cstdint>
#include <memory>

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

namespace torchport::vdev {

// The context of a device storage's data pointer.
struct StorageBlock {
  c10::intrusive_ptr<c10::StorageImpl> twin;
  c10::DeviceIndex device;
  std::uint64_t address;  // in the device's memory model; 0 if it has no bytes there
  std::uint64_t bytes;
  void* data;            // where the bytes are
  bool charged;          // whether it gives the block at `address` back
  bool listed;           // whether PoolBlocks has it
  bool alias = false;    // it is over the bytes of another storage, and never charged
  bool made_up = false;  // its values stand for some that are not there (phantom.h)
};

// The block of a data pointer; null if it is not one of a virtual device.
[[nodiscard]] StorageBlock* block_of(const c10::DataPtr& pointer);

// A data pointer whose context is the block.
[[nodiscard]] c10::DataPtr pointer_of(std::unique_ptr<StorageBlock> block);

// Gives the memory of a block back if it is charged. The bytes stay.
void give_back(StorageBlock& block);

// Notes a block if its memory is of a private pool, so that checkpoints find it by its address and
// by that of its bytes (pool_blocks.cpp). Thread safe.
void list_in_pools(StorageBlock& block);
void unlist_in_pools(StorageBlock& block);

}  // namespace torchport::vdev
