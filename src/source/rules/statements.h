// Edits of whole statements: lines put before and after, and what makes that safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/edit/edit.h"
#include "source/semantics/semantic_model.h"
#include "source/syntax/tree.h"

namespace torchport::rules {

// Whether the statement begins its line and nothing but a comment follows it
// on its last line. Only then may lines be put around it.
[[nodiscard]] bool stands_alone(syntax::Node statement);

// A new line before or after a statement that stands alone, in its indentation.
[[nodiscard]] edit::Edit line_before(syntax::Node statement, std::string_view line);
[[nodiscard]] edit::Edit line_after(syntax::Node statement, std::string_view line);

// The statement of the function before which a guard stands for all these nodes, and for nothing
// that gets by without them: one of the innermost block that holds them all. No node where none
// stands alone.
[[nodiscard]] syntax::Node innermost_statement(syntax::Node function,
                                               const std::vector<syntax::Node>& nodes);
// Where the lines of a statement start, with the comment lines right above it.
[[nodiscard]] std::uint32_t start_with_comments(syntax::Node statement);

// The line end of the file that the node belongs to.
[[nodiscard]] std::string_view newline_of(syntax::Node node);

// The one assignment `target = value` that a statement consists of; invalid
// for everything else (several targets, annotations, tuples).
[[nodiscard]] syntax::Node plain_assignment(syntax::Node statement);

// Whether the text, put in place of another expression, stays one expression:
// names, attributes, calls, subscripts, literals in brackets.
[[nodiscard]] bool is_primary(syntax::Node expression);
// The text of an expression, in parentheses where it needs them.
[[nodiscard]] std::string primary_text(syntax::Node expression);

// Whether a condition that speaks of one of these words (in a name, as a part
// split at underscores) has to be true for the node to run.
[[nodiscard]] bool runs_under(syntax::Node node, std::initializer_list<std::string_view> words);

// The last part of a dotted expression: "c" in `a.b.c`.
[[nodiscard]] std::string_view last_name(syntax::Node expression);

}  // namespace torchport::rules
