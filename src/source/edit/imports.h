// Finds where new top-level lines go in a module, and which line ends they need. Fixes insert
// imports and the device variable there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "source/syntax/tree.h"

namespace torchport::edit {

// The place after the last import of the block at the top of the file, which comes after the
// docstring and `__future__`; the start of an empty file. Imports inside `try`/`if` at the top
// belong to the block. See place_after().
[[nodiscard]] base::Span end_of_imports(const syntax::Tree& tree);

// The place of new lines after a statement: the line after the one in which it ends. If another
// statement about CUDA follows in that line (`import torch; x = y.cuda()`), it is what stands
// between the two, and the new lines replace it.
[[nodiscard]] base::Span place_after(const syntax::Tree& tree, syntax::Node statement);

// Where a new line of the file goes, and what it is.
struct NewLine {
  std::uint32_t offset = 0;
  std::string text;  // without line end; a blank line follows if it ends with "\n"
};

// The place of `import NAME` for a module of Python's own library: in its order among those that
// the file imports at its top, else before the first import. None if NAME is no such module, or the
// file imports nothing at its top.
[[nodiscard]] std::optional<NewLine> standard_import(const syntax::Tree& tree,
                                                     std::string_view statement);

// Whether a node is the first thing in its line.
[[nodiscard]] bool starts_line(syntax::Node node);

// Whether the last statement before an offset is the module's docstring.
[[nodiscard]] bool follows_docstring(const syntax::Tree& tree, std::uint32_t offset);

// The offset of the line after the one in which the node ends.
[[nodiscard]] std::uint32_t next_line(const syntax::Tree& tree, syntax::Node node);

// The line end that the file uses ("\n", "\r\n" or "\r").
[[nodiscard]] std::string_view newline_of(std::string_view text);

}  // namespace torchport::edit
