// Logical lines as the language reference has them (2.1.1 to 2.1.6): where a line may end inside
// of a statement. The grammar takes a line's end for a blank wherever no statement can end.
#pragma once

#include <cstdint>
#include <optional>

#include "source/syntax/tree.h"

namespace torchport::syntax {

// The first line end that stands inside of a statement (or of a compound statement's header)
// without brackets around it and without a backslash before it: Python refuses the file there.
[[nodiscard]] std::optional<std::uint32_t> broken_logical_line(const Tree& tree);

}  // namespace torchport::syntax
