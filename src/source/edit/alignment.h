// Keeps lines aligned with what follows an opening bracket, where a fix has moved that bracket.
#pragma once

#include <string>

#include "source/syntax/tree.h"

namespace torchport::edit {

// The text of `after` in which the lines that `before` aligned with the bracket around them stand
// aligned with it again:
//
//     with torch.amp.autocast(DEVICE.type, enabled=True,
//                             dtype=torch.float16):
//
// Lines in strings and lines that begin with a tab stay. Thread safe.
[[nodiscard]] std::string aligned_lines(const syntax::Tree& before, const syntax::Tree& after);

}  // namespace torchport::edit
