// The kernel of an operator that calls the CPU's kernel on aliases, with the C++ types of its
// arguments where the operator has a frequent signature.
//
// AliasKernel takes its arguments from a stack. A stack owns them: each tensor is counted once
// more, which takes Python's lock for a tensor that only Python holds (since torch 2.13), and the
// CPU's kernel needs them from the stack again. A kernel with typed arguments borrows them, and
// calls the CPU's kernel directly. It does so for calls that need no more than that; all other
// calls go to AliasKernel.
//
// A kernel of each operator's own, without aliases, was rejected: most CPU kernels ask for the
// device.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "runtime/virtual/core/kernel.h"

namespace torchport::vdev {

// The kernel for an operator. The arguments are those of AliasKernel, and so is what the kernel
// does and raises. Thread safe.
[[nodiscard]] c10::KernelFunction kernel_over_cpu(const c10::OperatorHandle& op,
                                                  c10::DispatchKey cpu, TypeRules types,
                                                  Choice instead = nullptr);

// Registers a kernel for as long as the process lives, over any that is there. Not thread safe.
void put(const c10::OperatorHandle& op, c10::DispatchKey key, c10::KernelFunction kernel);

}  // namespace torchport::vdev
