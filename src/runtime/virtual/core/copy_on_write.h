// The blocks of storages that share their bytes until one of them is written (lazy_clone_of() in
// storage.h), for storage.cpp, which finds and moves the blocks of all storages.
#pragma once

#include <c10/core/Allocator.h>

#include "runtime/virtual/core/storage_blocks.h"

namespace torchport::vdev {

// Whether a data pointer is, or was, one of several to the same bytes: its context is no block.
[[nodiscard]] bool is_shared(const c10::DataPtr& pointer);

// The block of such a pointer by the address of its bytes; null if there is none. Thread safe.
[[nodiscard]] StorageBlock* shared_block_at(const void* data);

// Forgets the block, which has an owner again. Thread safe.
void forget_shared_block(const void* data);

}  // namespace torchport::vdev
