// What a device's kernel returns in another layout than PyTorch's meta kernel, or has not at all.
#pragma once

#include <ATen/core/operator_name.h>

#include "runtime/virtual/operators/result_rules.h"

namespace torchport::vdev {

// The rule for the results of an operator's meta kernel; null if it has none. Arguments and results
// are meta tensors. Thread safe.
[[nodiscard]] ResultRule meta_result_rule_of(const c10::OperatorName& name);

}  // namespace torchport::vdev
