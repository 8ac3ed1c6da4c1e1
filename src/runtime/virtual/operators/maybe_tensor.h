// Names the type of an optional tensor in a kernel's signature. Such a tensor may have a value and
// still be undefined, so kernels ask has() and not has_value().
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

namespace torchport::vdev {

using MaybeTensor = std::optional<at::Tensor>;

inline bool has(const MaybeTensor& tensor) {
  return tensor.has_value() && tensor->defined();
}

}  // namespace torchport::vdev
