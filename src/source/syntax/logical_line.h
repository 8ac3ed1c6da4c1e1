// Checks logical lines by sections 2.1.1 to 2.1.6 of Python's language reference: where a line may
// end within a statement. tree-sitter's grammar treats a line end as a blank wherever no statement
// can end.
#pragma once

#include <cstdint>
#include <optional>

#include "source/syntax/tree.h"

namespace torchport::syntax {

// The offset of the first line end within a statement (or the header of a compound statement) that
// is neither in brackets nor after a backslash, where Python refuses the file.
[[nodiscard]] std::optional<std::uint32_t> broken_logical_line(const Tree& tree);

}  // namespace torchport::syntax
