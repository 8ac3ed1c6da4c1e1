// Where the record that autograd keeps of a value ends.
#pragma once

#include "source/rules/rule.h"

namespace torchport::rules {

// Whether each use of a value gives up its record: `y.detach()`, `y.item()`, `y > 0.5`, a text.
// Then nothing is kept with its record, and nothing raises because the value requires a gradient.
// Follows the value through operators, methods of tensors and local names.
[[nodiscard]] bool gives_up_record(const SemanticModel& model, Node value);

}  // namespace torchport::rules
