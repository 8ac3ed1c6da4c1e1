// What CUDA's kernels refuse and the CPU's take.
#pragma once

#include <ATen/core/operator_name.h>

#include "runtime/virtual/core/kernel.h"

namespace torchport::vdev {

// Raises c10::Error, with the text of CUDA's kernel, for arguments whose types it does not take;
// null if CUDA's kernels take what the CPU's do. Any thread may call it.
[[nodiscard]] TypeCheck refusal_of(const c10::OperatorName& name);

}  // namespace torchport::vdev
