// Tests that ask what torch was compiled for, where a program means to ask what the machine has:
// `if torch.backends.cuda.is_built():`.
#pragma once

#include <string>

#include "source/rules/rule.h"

namespace torchport::rules {

// The part of a condition around a node that asks for the build, if the node runs only where the
// condition holds; invalid if there is none.
[[nodiscard]] Node build_test_around(const SemanticModel& model, Node node);

[[nodiscard]] std::string message_of_build_test(Node test);
// Asks the machine in place of the build. The devices in the branch stay for the next look.
[[nodiscard]] Fix fix_of_build_test(const PythonContext& context, Node test);

}  // namespace torchport::rules
