// What a call returns whose kernel failed an assertion on the device: tensors of the right shapes
// and dtypes, because the host does not know yet that the kernel failed.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

namespace torchport::vdev {

// The results of a call with these arguments, on the CPU: the arguments that it writes to, and new
// tensors of zeros (a real device leaves what was in memory). The operator's meta kernel, which
// makes the host's checks, gives the shapes. Nothing if it raises, so that the error is one of the
// host. REQUIRED: the arguments are the CPU's.
[[nodiscard]] std::optional<std::vector<c10::IValue>> late_results(
    const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments);

}  // namespace torchport::vdev
