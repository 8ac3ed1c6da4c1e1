// Finds functions and classes that nothing can reach, because a later definition has their name.
#pragma once

#include "source/rules/rule.h"

namespace torchport::rules {

// Whether a place is in a function or class that a later definition of the same block replaces
// before anything of the file names it.
[[nodiscard]] bool is_in_replaced_definition(const SemanticModel& model, Node place);

}  // namespace torchport::rules
