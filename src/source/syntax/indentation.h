// Indentation as the language reference has it (2.1.8), which the grammar is too generous about.
#pragma once

#include <cstdint>
#include <optional>

#include "source/syntax/tree.h"

namespace torchport::syntax {

// The first statement or clause that does not stand where its block does: Python refuses the file
// there. With `indented_cells`, statements of the module may stand anywhere, as in a notebook's
// cells, from which IPython takes the common indentation.
[[nodiscard]] std::optional<std::uint32_t> misplaced_statement(const Tree& tree,
                                                               bool indented_cells);

}  // namespace torchport::syntax
