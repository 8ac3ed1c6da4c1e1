// NaN and infinity in tensors, for those who ask for it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include "runtime/observe/log.h"

namespace torchport::observe {

struct Finite {
  bool nan = false;
  bool infinite = false;
};

// Waits for the tensor's device. Types without either, meta and sparse tensors have neither.
[[nodiscard]] Finite look_for_not_finite(const at::Tensor& tensor);
[[nodiscard]] bool all_finite(c10::ArrayRef<KeptArgument> arguments);

}  // namespace torchport::observe
