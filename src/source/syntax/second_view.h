// Rewrites what Python reads and the grammar refuses, for a second try at parsing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace torchport::syntax {

// A text of the same length in which these constructs look like others that have the same tree, but
// for one kind of node; none if there is nothing to rewrite:
// - `return a, *(b)`: a star before an expression that is no name, outside of brackets, becomes a
//   plus. A unary operator whose source is a star is a list splat.
// - `class A[T = int]`: the default becomes one more parameter.
// - `x = 1 \` before an empty line or a comment: the backslash becomes a blank.
// - `f"{x:=^10}"`, which is no assignment expression.
// `view` is that of parser_view(). Thread safe.
[[nodiscard]] std::optional<std::string> second_view(std::string_view view);

}  // namespace torchport::syntax
