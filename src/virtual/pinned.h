// Pinned host memory: plain host memory that is known by its address.
#pragma once

#include <c10/core/Allocator.h>

namespace torchport::vdev {

// Thread-safe.
[[nodiscard]] c10::Allocator* pinned_allocator();
// Whether the address lies in a block of the pinned allocator.
[[nodiscard]] bool is_pinned(const void* address);

}  // namespace torchport::vdev
