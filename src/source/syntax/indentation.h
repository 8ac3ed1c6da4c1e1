// Checks indentation by section 2.1.8 of Python's language reference. tree-sitter's grammar accepts
// more than Python does.
#pragma once

#include <cstdint>
#include <optional>

#include "source/syntax/tree.h"

namespace torchport::syntax {

// The offset of the first statement or clause that is not indented like its block, where Python
// refuses the file. With `indented_cells`, statements of the module may have any indentation:
// IPython removes the common indentation of a notebook's cells.
[[nodiscard]] std::optional<std::uint32_t> misplaced_statement(const Tree& tree,
                                                               bool indented_cells);

}  // namespace torchport::syntax
