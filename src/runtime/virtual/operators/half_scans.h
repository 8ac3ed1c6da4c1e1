// The sums of float16 and bfloat16 numbers up to each of a row, as CUDA adds them up.
#pragma once

#include <ATen/core/Tensor.h>

namespace torchport::vdev {

// Of the last dimension, of float16 or bfloat16 numbers of the CPU. Every sum is rounded.
[[nodiscard]] at::Tensor sums_as_cuda(const at::Tensor& rows);

}  // namespace torchport::vdev
