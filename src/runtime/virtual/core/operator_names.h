// Names of operators, as the tables of rules have them.
#pragma once

#include <string>

#include <ATen/core/operator_name.h>

namespace torchport::vdev {

// "aten::add.out"; without a dot if the overload has no name.
[[nodiscard]] inline std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

}  // namespace torchport::vdev
