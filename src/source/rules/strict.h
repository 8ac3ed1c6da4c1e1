// What a strict check reports of code that runs only with CUDA.
#pragma once

#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

// Whether guarded code of this family ties the program to CUDA. A load, or tensors that do not mix,
// are as good as in other code.
[[nodiscard]] bool is_for_strict(std::string_view family);

// Makes a finding of a rule that ignored guards one about guarded code: its message says what the
// guard is, and it keeps its fix only if that is written in the project's own idiom.
void make_guarded(const PythonContext& context, Node place, Finding& finding);

// Whether the file knows this name: it imports or defines it.
[[nodiscard]] bool knows_name(const SemanticModel& model, std::string_view name);

// Drops the findings of rules that give way where the statement around them has another finding.
void drop_what_gives_way(const PythonContext& context, std::vector<Finding>& findings);

}  // namespace torchport::rules
