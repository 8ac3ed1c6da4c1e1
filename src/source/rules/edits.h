// Builds the edits that rules share: for arguments of calls, whole calls, statements. Each edit
// keeps the bytes that it is not meant to change, so that a fix keeps the file's format.
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
// An edit that inserts text before or after the node.
[[nodiscard]] Edit insert_before(Node node, std::string text);
[[nodiscard]] Edit insert_after(Node node, std::string text);
[[nodiscard]] Edit erase(base::Span span);

// Adds `name=value` as the last argument of a call. Handles a trailing comma, existing arguments
// and line breaks.
[[nodiscard]] Edit add_argument(Node call, std::string_view argument);
// Removes one argument of a call (`whole` is the keyword_argument or the value) with its comma.
[[nodiscard]] Edit remove_argument(Node call, Node whole);

// The text between the parentheses of the call; "" if there are no arguments.
[[nodiscard]] std::string_view arguments_text(Node call);

// The indentation (spaces and tabs) of the line on which the node's statement starts; "" if none.
[[nodiscard]] std::string_view indentation_of(Node node);

// The complete lines, with the line end, of a statement that shares them with no other.
[[nodiscard]] base::Span whole_lines(Node statement);
// The same, with the comment right above if it speaks of CUDA or GPUs, and no other statement but
// one of torch.cuda follows right below, which it may speak of too.
[[nodiscard]] base::Span lines_with_comment(Node statement);

// The last part of a callee: "cuda" in `a.b.cuda(...)`, "f" in `f(...)`.
[[nodiscard]] std::string_view method_name(Node call);
// The object of a method call: `a.b` in `a.b.cuda()`; invalid for plain calls.
[[nodiscard]] Node object_of(Node call);
// The span from the dot before the method's name to the end of the call: ".cuda()".
[[nodiscard]] base::Span method_span(Node call);

}  // namespace torchport::rules
