// PyTorch's own C++ functions for the sizes, strides and types of results.
//
// Since it is imported, PyTorch's Python has taken the dispatcher's key Meta of most operators:
// functions in Python, which take the interpreter's lock and some 8 us. What a device computes
// allocates by the C++ functions (ATen's structured kernels), which are exported as at::meta.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/operator_name.h>

namespace torchport::vdev {

// The function of an operator, for meta tensors; null: the dispatcher has to be asked. It lives as
// long as the process.
[[nodiscard]] const c10::KernelFunction* structured_meta_of(const c10::OperatorName& op);

}  // namespace torchport::vdev
