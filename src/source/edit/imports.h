// Where a module's imports end, and how its lines do.
#pragma once

#include <cstdint>
#include <string_view>

#include "source/syntax/tree.h"

namespace torchport::edit {

// The offset after the last import of the block at the top of the file (after
// the docstring and `__future__`, 0 in an empty file) where new top-level
// lines go. Imports inside `try`/`if` at the top count as part of the block.
[[nodiscard]] std::uint32_t end_of_imports(const syntax::Tree& tree);

// The line end the file uses ("\n", "\r\n" or "\r").
[[nodiscard]] std::string_view newline_of(std::string_view text);

}  // namespace torchport::edit
