// The types that cuDNN computes.
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

namespace torchport::vdev {

// Raises what the description of a tensor for cuDNN raises for a type that it does not have
// (aten/src/ATen/cudnn/Descriptors.cpp and Types.cpp).
inline void check_described(at::ScalarType type) {
  const bool is_known = type == at::kByte || type == at::kChar || type == at::kInt;
  TORCH_CHECK(!is_known, "TensorDescriptor does not support ", type);
  const bool is_computed =
      type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
  TORCH_CHECK(is_computed, "getCudnnDataTypeFromScalarType() not supported for ", type);
}

}  // namespace torchport::vdev
