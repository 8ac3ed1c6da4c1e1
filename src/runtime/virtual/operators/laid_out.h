// Copies a tensor into another layout.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>

namespace torchport::vdev {

// The tensor if it has these strides, else a copy that has them.
inline at::Tensor laid_out(const at::Tensor& tensor, c10::IntArrayRef strides) {
  if (tensor.strides() == strides) return tensor;
  return at::empty_strided(tensor.sizes(), strides, tensor.options()).copy_(tensor);
}

}  // namespace torchport::vdev
