// Finds parts of a batch that stay on the CPU and meet what a model made of the parts that were
// moved: `loss_of(model(x.to(device)), y)`. It needs to know neither the model nor the loader.
#pragma once

#include <functional>
#include <vector>

#include "source/rules/mismatch/common/batch_values.h"
#include "source/rules/rule.h"

namespace torchport::rules {

struct LeftPart {
  Node argument;    // where the part meets an output
  BatchValue part;  // kLeft
  Node move;        // the call that moved another part
};

// Calls back for each, in source order of calls, then comparisons, then arithmetic. A part may
// come several times.
void find_left_parts(const SemanticModel& model, BatchValues& values,
                     const std::function<void(const LeftPart&)>& found);

// Whether the expression, or the value of its name, was moved to a device that is not the CPU; for
// any name, not only a part of a batch.
[[nodiscard]] bool is_moved_value(const SemanticModel& model, Node expression);

// A moved value that another call of what has this text gets at the same place: the program says
// there that the callee wants one. Invalid if there is none.
[[nodiscard]] Node fed_moved_elsewhere(const SemanticModel& model, Node call, std::size_t position);

}  // namespace torchport::rules
