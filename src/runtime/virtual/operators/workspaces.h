// The memory of the device that CUDA's kernels take while they compute. The CPU's kernels have
// theirs on the host, or compute in one pass, so that a program would not run out of memory here.
#pragma once

#include <cstdint>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DispatchKey.h>
#include <c10/util/SmallVector.h>

namespace torchport::vdev {

// The bytes of each block that a call with these arguments takes and gives back.
using Workspace = c10::SmallVector<std::int64_t, 2> (*)(const c10::IValue* arguments);

// The workspace of an operator whose CPU kernel is under `cpu`; null if it takes none. What CUDA's
// libraries (cuBLAS, cuDNN, cuSOLVER) take is not known. Thread safe.
[[nodiscard]] Workspace workspace_of(const c10::OperatorName& name, c10::DispatchKey cpu);

// Whether a device that is short of memory computes without it: cuDNN then chooses another kernel.
[[nodiscard]] bool is_dispensable(Workspace workspace);

}  // namespace torchport::vdev
