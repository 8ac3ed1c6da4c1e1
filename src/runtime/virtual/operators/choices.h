// Registers operators that the CPU's kernel computes for most calls, and another function for some.
#pragma once

#include <c10/core/DispatchKey.h>
#include <torch/library.h>

#include "runtime/virtual/core/kernel.h"

namespace torchport::vdev {

// Registers an AliasKernel with this choice for an operator of ATen, such as "add" with overload
// "out". `cpu` is the dispatch key of the CPU's kernel. Raises c10::Error if there is no such
// operator. Call it for the group that `aten` is of (operator_groups.h).
void put_choice(torch::Library& aten, const char* name, const char* overload, Choice choice,
                c10::DispatchKey cpu = c10::DispatchKey::CPU);

}  // namespace torchport::vdev
