// Optional tensors, as kernels get them: one that is there may still be undefined.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

namespace torchport::vdev {

using MaybeTensor = std::optional<at::Tensor>;

inline bool has(const MaybeTensor& tensor) {
  return tensor.has_value() && tensor->defined();
}

}  // namespace torchport::vdev
