// Follows a value of a build script to what it decides: through conditions, names, flags that a
// branch sets, lists and the loops over them, functions and their arguments.
#pragma once

#include "source/rules/rule.h"

namespace torchport::rules {

// Whether an extension, or what it is built of, depends on the value.
[[nodiscard]] bool decides_extension(const SemanticModel& model, Node value);

}  // namespace torchport::rules
