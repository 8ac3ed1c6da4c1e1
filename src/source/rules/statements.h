// Builds edits of whole statements: lines inserted before and after them, and the conditions under
// which that is safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/edit/edit.h"
#include "source/semantics/semantic_model.h"
#include "source/syntax/tree.h"

namespace torchport::rules {

// Whether the statement begins its line and is followed only by a comment on its last line. Lines
// may be inserted around it only then.
[[nodiscard]] bool stands_alone(syntax::Node statement);

// An edit that inserts a line before or after a statement that stands alone, with its indentation.
[[nodiscard]] edit::Edit line_before(syntax::Node statement, std::string_view line);
[[nodiscard]] edit::Edit line_after(syntax::Node statement, std::string_view line);

// The statement of the function before which one guard covers all these nodes, and as little else
// as possible: it is in the innermost block that contains them all. Invalid if no such statement
// stands alone.
[[nodiscard]] syntax::Node innermost_statement(syntax::Node function,
                                               const std::vector<syntax::Node>& nodes);
// The offset at which a statement's lines start, including comment lines directly above it.
[[nodiscard]] std::uint32_t start_with_comments(syntax::Node statement);

// The line end that the node's file uses.
[[nodiscard]] std::string_view newline_of(syntax::Node node);

// The assignment `target = value` if the statement is exactly that; invalid for several targets,
// annotations and tuples.
[[nodiscard]] syntax::Node plain_assignment(syntax::Node statement);

// Whether the expression can replace any other without parentheses: names, attributes, calls,
// subscripts, literals in brackets.
[[nodiscard]] bool is_primary(syntax::Node expression);
// The text of an expression, in parentheses if it needs them.
[[nodiscard]] std::string primary_text(syntax::Node expression);

// Whether the node runs only if a condition is true that contains one of these words (in a name, as
// a part between underscores).
[[nodiscard]] bool runs_under(syntax::Node node, std::initializer_list<std::string_view> words);

// Whether a loop or a comprehension of its function runs the node more than once.
[[nodiscard]] bool runs_in_loop(syntax::Node node);

// The bodies of the `try` statements around a node in its function, the innermost first.
[[nodiscard]] std::vector<syntax::Node> tried_bodies(syntax::Node node);

// The last part of a dotted expression: "c" in `a.b.c`.
[[nodiscard]] std::string_view last_name(syntax::Node expression);

}  // namespace torchport::rules
