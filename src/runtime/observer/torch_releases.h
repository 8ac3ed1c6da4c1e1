// What of torch differs between releases, for the table of operator semantics (since.h has the
// form).
#pragma once

#include "runtime/torch_releases/since.h"

namespace torchport::observer {

// since 2.11, in no header: cumsum, kthvalue and reflection_pad2d_backward have deterministic
// algorithms on CUDA, and histc waits whatever its range (the names that libtorch_cuda.so has)
constexpr bool kBefore211 = !TORCHPORT_TORCH_SINCE(2, 11);

// since 2.13, in no header: max_pool3d_with_indices_backward has a deterministic algorithm on CUDA
// (the list of torch.use_deterministic_algorithms)
constexpr bool kBefore213 = !TORCHPORT_TORCH_SINCE(2, 13);

}  // namespace torchport::observer
