// Fixes that are right only when nothing else in their file needs CUDA, such as the removal of a
// demand for it.
#pragma once

#include <vector>

#include "source/rules/examine.h"

namespace torchport::rules {

// Turns fixes that come last (Fix::comes_last) into a description while other findings of the file
// stop the program without CUDA, or may do so: the selected rules do not look for all of them.
void hold_back_last_fixes(const Selection& selection, std::vector<Finding>& findings);

}  // namespace torchport::rules
