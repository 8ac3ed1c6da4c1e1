// Looks for NaN and infinity in tensors. It is separate from the log because it reads values, which
// costs a pass and a synchronisation per tensor; only ObserveOptions::check_finite turns it on.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include "runtime/observe/log.h"

namespace torchport::observe {

struct Finite {
  bool nan = false;
  bool infinite = false;
};

// Waits for the tensor's device. Returns neither for integers, meta and sparse tensors.
[[nodiscard]] Finite look_for_not_finite(const at::Tensor& tensor);
[[nodiscard]] bool all_finite(c10::ArrayRef<KeptArgument> arguments);

}  // namespace torchport::observe
