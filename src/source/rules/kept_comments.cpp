#include "source/rules/kept_comments.h"

#include <algorithm>
#include <map>
#include <string>

#include "source/rules/edits.h"
#include "source/rules/statements.h"

namespace torchport::rules {

namespace {

bool holds(base::Span outer, base::Span inner) {
  return outer.start <= inner.start && inner.end <= outer.end;
}

// The edit that takes the comment away; null if none does.
const Edit* edit_that_drops(const edit::Fix& fix, Node comment) {
  for (const Edit& edit : fix.edits) {
    if (!holds(edit.span, comment.span())) continue;
    for (const Edit& other : fix.edits)
      if (other.text.find(comment.text()) != std::string::npos) return nullptr;
    return &edit;
  }
  return nullptr;
}

}  // namespace

void keep_comments(const syntax::Tree& tree, edit::Fix& fix) {
  std::map<std::uint32_t, std::string> above;  // the start of a line -> what is written there
  for (const Node comment : tree.comments()) {
    const Edit* edit = edit_that_drops(fix, comment);
    if (edit == nullptr) continue;
    const Node statement = syntax::statement_of(syntax::node_at(tree, edit->span.start));
    const bool whole =
        !statement || (edit->span.start <= statement.start() && statement.end() <= edit->span.end);
    if (whole && base::trim(edit->text).empty()) continue;
    const Node placed = statement ? statement : comment;
    const std::uint32_t start = tree.lines().line_start(tree.lines().at(placed.start()).line);
    const bool inside = std::any_of(fix.edits.begin(), fix.edits.end(), [&](const Edit& other) {
      return other.span.start < start && start < other.span.end;
    });
    if (inside || edit::is_read_by_tools(comment.text()) ||
        syntax::node_at(tree, start).is(Kind::kString)) {
      fix.applicability = edit::Applicability::kDisplay;
      return;
    }
    above[start] +=
        std::string(indentation_of(placed)).append(comment.text()).append(newline_of(placed));
  }
  for (auto& [start, text] : above) fix.edits.push_back({{start, start}, std::move(text)});
  edit::sort_edits(fix.edits);
}

}  // namespace torchport::rules
