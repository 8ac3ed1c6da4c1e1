// The types that CUDA's kernels take, where they differ from those of the CPU's.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "runtime/virtual/core/kernel.h"

namespace torchport::vdev {

// The rules of an operator whose work the kernel under `cpu` does. Those of CUDA's types are for
// CUDA devices only.
[[nodiscard]] TypeRules type_rules_of(const c10::OperatorName& name,
                                      c10::DispatchKey cpu = c10::DispatchKey::CPU);

// Whether CUDA has no kernel for an operator that the CPU has one for.
[[nodiscard]] bool is_missing_on_cuda(const c10::OperatorName& name);

// Raises what the dispatcher raises for such an operator.
[[noreturn]] void refuse_missing(const c10::OperatorName& name);

}  // namespace torchport::vdev
