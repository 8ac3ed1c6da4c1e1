// Builds the fix of a batch that stays behind: a line at the top of the loop that moves it.
#pragma once

#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

// The names of the loop's target that go into the model or meet its outputs, in the order of the
// target. Nothing if one of them is also used where only the CPU will do.
[[nodiscard]] std::vector<Node> names_to_move(const SemanticModel& model, Node loop, Node fed);

// The one name, if it is of the loop's target and is used only where a device will do.
[[nodiscard]] std::vector<Node> name_to_move(const SemanticModel& model, Node loop, Node name);

// Moves these names to the device in each step of the loop. Without names, or without a name for
// the device, it has a title only.
[[nodiscard]] Fix loop_fix(Node loop, const std::vector<Node>& names,
                           const edit::DeviceRef& device);

}  // namespace torchport::rules
