// Removes what the fixes of a file left behind: imports and local variables that the file used
// before, and that nothing uses any more.
#pragma once

#include <string>

#include "source/rules/rule.h"

namespace torchport::rules {

// The text of `after` without them. What other files may use stays: everything in an __init__.py,
// names in strings (`__all__`), names that another file imports from this one, imports in `try` and
// `if`, and lines with `noqa`.
[[nodiscard]] std::string without_unused(std::string_view path, const SemanticModel& before,
                                         const SemanticModel& after, const flow::Summary* project);

}  // namespace torchport::rules
