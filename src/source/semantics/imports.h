// The names that import statements bind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/syntax/tree.h"

namespace torchport::semantics {

struct ImportedName {
  syntax::Node target;    // the identifier that is bound; invalid for `*`
  std::string qualified;  // the dotted name, ".mod.x" if relative; for `*` that of the module
};

// What an `import` or `from ... import` binds, in source order; empty for any other statement.
[[nodiscard]] std::vector<ImportedName> imported_names(syntax::Node statement);

// The dotted name of a node that is one, without the spaces that its text may have.
[[nodiscard]] std::string dotted_name(syntax::Node name);

}  // namespace torchport::semantics
