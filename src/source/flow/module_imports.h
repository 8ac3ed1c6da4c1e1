// What a module imports, read from its tree alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "source/syntax/tree.h"

namespace torchport::flow {

// The imports of the module's own code, without those of torch's modules: the bound name and the
// dotted name that it stands for, ".mod.x" if relative. `from m import *` is {"*", "m.*"}, and
// `import a.b` is there under its whole name, too, because it binds only `a`.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> module_imports(
    const syntax::Tree& tree);

}  // namespace torchport::flow
