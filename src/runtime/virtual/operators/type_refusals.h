// What CUDA's kernels refuse and the CPU's take.
#pragma once

#include <string_view>
#include <unordered_map>

#include <ATen/core/operator_name.h>

#include "runtime/virtual/core/kernel.h"

namespace torchport::vdev {

// By the operator's name without its overload, as out= variants take the same arguments first; a
// name with "." is for one overload alone.
using TypeChecks = std::unordered_map<std::string_view, TypeCheck>;

// Tables by subject, one a file. They are functions, because kernels are registered while the
// library's files are initialised (operator_groups.h).
[[nodiscard]] const TypeChecks& refusals_of_algebra();
[[nodiscard]] const TypeChecks& refusals_of_layers();

// Raises c10::Error, with the text of CUDA's kernel, for arguments whose types it does not take;
// null if CUDA's kernels take what the CPU's do. Any thread may call it.
[[nodiscard]] TypeCheck refusal_of(const c10::OperatorName& name);

}  // namespace torchport::vdev
