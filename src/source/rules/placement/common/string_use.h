// Finds out whether a device given as a string has to stay one: because its reader compares it with
// strings, calls a method of strings, or puts it into text.
#pragma once

#include "source/rules/rule.h"

namespace torchport::rules {

// Whether an argument has to stay a string: it goes into a dict or a namespace, or to a function of
// the file that reads its parameter as a string.
[[nodiscard]] bool must_stay_string(const SemanticModel& model, Node call, Node argument);

}  // namespace torchport::rules
