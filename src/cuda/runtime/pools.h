// Pools of memory, for cudaMallocAsync.
#pragma once

#include "cuda/runtime/memory.h"

namespace torchport::cuda {

// Takes back what a pool gave.
void free_in_pool(const Range& range);
// A call waited: pools give back what they keep above their thresholds.
void trim_pools(int device);

}  // namespace torchport::cuda
