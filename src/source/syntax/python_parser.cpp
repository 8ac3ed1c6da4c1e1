#include "source/syntax/python_parser.h"

#include <algorithm>

namespace torchport::syntax {

bool PythonParser::run(Tree& tree, const ParseLimits& limits) {
  // Cells of a notebook may have any indentation.
  if (limits.indented_cells) return false;
  records_.reserve(lexer_.size() / 4 + 16);
  return module(limits) && !lost_ && fill(tree, limits);
}

void PythonParser::place_extras(std::size_t number) {
  for (std::size_t i = 0; i < number; ++i) {
    const Extra& extra = lexer_.extras[i];
    // Whether a comment may stand in a field depends on Python's release.
    if (fields_ > 0 && extra.kind == Kind::kComment) lost_ = true;
    add_leaf(extra.kind, Field::kNone, extra.start, extra.end);
    extra_end_ = extra.end;
  }
  if (number == lexer_.extras.size()) {
    lexer_.extras.clear();
  } else {
    lexer_.extras.erase(lexer_.extras.begin(),
                        lexer_.extras.begin() + static_cast<std::ptrdiff_t>(number));
  }
}

void PythonParser::restore(const Snapshot& snapshot) {
  lexer_ = snapshot.lexer;
  records_.resize(snapshot.records);
  last_end_ = snapshot.last_end;
  extra_end_ = snapshot.extra_end;
  fields_ = 0;
}

bool PythonParser::module(const ParseLimits& limits) {
  lexer_.next_line();
  std::uint32_t start = lexer_.extras.empty() ? lexer_.start : lexer_.extras.front().start;
  while (!at(Token::kEnd)) {
    if (lexer_.indentation.characters != 0 || !statement() || is_too_large(limits)) return false;
  }
  place_extras(lexer_.extras.size());
  if (records_.empty()) start = lexer_.size();
  last_end_ = lexer_.size();
  close({0, start}, Kind::kModule);
  return true;
}

// Goes through the records from the last to the first, which is each node before its children, and
// the last child first. The index of a node in preorder is the number of nodes around it and of
// those before it; its own children come after it, not before.
bool PythonParser::fill(Tree& tree, const ParseLimits& limits) {
  struct Around {
    std::uint32_t first;  // of its records, in postorder
    std::uint32_t index;  // in preorder
  };
  if (std::uint64_t{records_.size()} * 2 * sizeof(Record) > limits.max_parser_bytes) return false;
  std::vector<Record> ordered(records_.size());
  std::vector<Around> around;
  std::vector<std::uint32_t> comments;
  std::size_t deepest = 0;
  for (std::uint32_t at = count(); at-- > 0;) {
    const Record& record = records_[at];
    const std::uint32_t size = record.subtree_end;
    while (!around.empty() && at < around.back().first) around.pop_back();
    const std::uint32_t first = at + 1 - size;
    const auto index = first + static_cast<std::uint32_t>(around.size());
    ordered[index] = {record.kind,
                      record.field,
                      record.start,
                      record.end,
                      around.empty() ? 0 : around.back().index,
                      index + size};
    if (size > 1) {
      around.push_back({first, index});
      deepest = std::max(deepest, around.size());
    }
    if (record.kind == Kind::kComment) comments.push_back(index);
  }
  // The limits are for a tree that also has the marks that are no records: no more than a level
  // below each node, and no more than there are bytes. Close to a limit the other parser decides.
  if (deepest + 3 > limits.max_depth ||
      (records_.size() + lexer_.size()) * (deepest + 3) > limits.max_total_depth)
    return false;
  tree.records_ = std::move(ordered);
  tree.comments_.clear();
  for (auto comment = comments.rbegin(); comment != comments.rend(); ++comment)
    tree.comments_.emplace_back(&tree, *comment);
  return true;
}

}  // namespace torchport::syntax
