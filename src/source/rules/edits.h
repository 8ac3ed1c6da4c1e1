// Small builders of edits that rules share: arguments of calls, whole calls,
// statements. All of them keep what they do not mean to change, byte for byte.
#pragma once

#include <string>
#include <string_view>

#include "source/edit/edit.h"
#include "source/syntax/tree.h"

namespace torchport::rules {

using edit::Edit;
using syntax::Node;

// Replaces the node's text.
[[nodiscard]] Edit replace(Node node, std::string text);
// Inserts before or after the node.
[[nodiscard]] Edit insert_before(Node node, std::string text);
[[nodiscard]] Edit insert_after(Node node, std::string text);
[[nodiscard]] Edit erase(base::Span span);

// Adds `name=value` as the last argument of a call, minding a trailing comma,
// existing arguments and line breaks.
[[nodiscard]] Edit add_argument(Node call, std::string_view argument);
// Removes one argument of a call (the keyword_argument or the value) with its comma.
[[nodiscard]] Edit remove_argument(Node call, Node whole);

// The text of the call's arguments from the n-th on, separators included: what
// stands between the parentheses after the first n arguments; "" when none.
[[nodiscard]] std::string_view arguments_text(Node call);

// The indentation (spaces and tabs) of the line that the node's statement starts on; "" for none.
[[nodiscard]] std::string_view indentation_of(Node node);

// The whole line(s) of a statement that stands alone on them, line end included.
[[nodiscard]] base::Span whole_lines(Node statement);

// The last part of a callee: "cuda" in `a.b.cuda(...)`, "f" in `f(...)`.
[[nodiscard]] std::string_view method_name(Node call);
// The object of a method call: `a.b` in `a.b.cuda()`; invalid for plain calls.
[[nodiscard]] Node object_of(Node call);
// The span from the dot before the method's name to the end of the call: ".cuda()".
[[nodiscard]] base::Span method_span(Node call);

}  // namespace torchport::rules
