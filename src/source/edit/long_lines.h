// Breaks the lines that fixes made too long, inside of brackets, as black does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "source/syntax/tree.h"

namespace torchport::edit {

// The length that the lines of a text keep to: one line in a hundred may be longer. At least 79.
[[nodiscard]] std::size_t own_line_length(std::string_view text);

// The text of `after` in which no line that `before` does not have is longer than `limit`
// characters, or than the lines in whose place it stands, as far as its brackets allow it. Strings,
// comments and all other lines stay.
[[nodiscard]] std::string broken_lines(std::string_view before, const syntax::Tree& after,
                                       std::size_t limit);

}  // namespace torchport::edit
