// The blocks of devices without data by the addresses of their bytes, because a kernel of the
// program gets addresses and no tensors. Nothing is listed in a process whose devices have data.
#pragma once

#include <functional>

#include "runtime/virtual/core/storage_blocks.h"

namespace torchport::vdev {

// Notes that the bytes of a block are where `block.data` says, and that they are no longer. Each
// block that was placed is taken out before its data or size changes, and before it is deleted.
// Thread safe.
void place_block(StorageBlock& block);
void unplace_block(StorageBlock& block);

// Calls `use` with each block whose bytes contain the address (several may share their bytes);
// false if there is none. No block is deleted meanwhile, so `use` must not take or free memory of a
// device. Thread safe.
bool with_blocks_at(const void* address, const std::function<void(StorageBlock&)>& use);

}  // namespace torchport::vdev
