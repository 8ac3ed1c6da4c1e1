// What is said of code that a demand for CUDA keeps from running on other machines:
// `if not torch.cuda.is_available(): sys.exit(1)` in an earlier line.
#pragma once

#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

// Adds to each finding behind a demand where that is: neither change is of use without the other.
// Therefore no fix of such a finding stays safe, nor that of a finding in a function that is called
// behind a demand and elsewhere: what meets in it would be moved on one side only.
void name_demands(const PythonContext& context, std::vector<Finding>& findings);

}  // namespace torchport::rules
