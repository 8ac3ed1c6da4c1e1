// What a name means that only `from torch import *` or its like can have brought.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchport::semantics {

// The dotted name of a name that the file does not bind, by the modules that it imports with a
// star, in their order; empty if none of torch's has it. The usual names of modules (`torch`, `nn`)
// come by the star of a file that nothing is known about. A later star of a module that nothing is
// known about may bring the same name, so that only names which few others have count then.
[[nodiscard]] std::string name_by_star(const std::vector<std::string>& modules,
                                       std::string_view name);

}  // namespace torchport::semantics
