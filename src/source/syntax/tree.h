// Stores a parsed Python file as one flat array in preorder.
//
// Rules ask for children and parents all the time, and tree-sitter's own nodes search for each. So
// a tree is 20-byte records: the first child of i is i + 1, its next sibling begins where its
// subtree ends, and "everything below i" is a range. Nothing here recurses, so depth costs nothing:
// 100,000 nested parentheses are an array like any other. Two parsers make such records: the quick
// one (python_parser.h), and tree-sitter for what that one refuses.
//
// A tree is constant after parse(), so any thread may read it. Offsets are in bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "source/syntax/kind.h"

namespace torchport::syntax {

class Tree;

// A place in a tree; cheap to copy, and valid as long as the tree. A default Node is invalid: every
// question to it has the empty answer, so chains need no checks in between.
class Node {
 public:
  Node() = default;
  Node(const Tree* tree, std::uint32_t index) : tree_(tree), index_(index) {}

  [[nodiscard]] explicit operator bool() const { return tree_ != nullptr; }
  [[nodiscard]] bool operator==(const Node&) const = default;

  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is(Kind kind) const { return tree_ != nullptr && this->kind() == kind; }
  template <class... Kinds>
  [[nodiscard]] bool is_any(Kinds... kinds) const {
    return (is(kinds) || ...);
  }
  // The field under which the parent holds this node.
  [[nodiscard]] Field field() const;
  [[nodiscard]] std::uint32_t start() const;
  [[nodiscard]] std::uint32_t end() const;
  [[nodiscard]] base::Span span() const { return {start(), end()}; }
  // The source bytes, as they stand in the file.
  [[nodiscard]] std::string_view text() const;

  [[nodiscard]] Node parent() const;
  // The first named child, and the next named sibling. Comments and line continuations are skipped.
  [[nodiscard]] Node first_child() const;
  [[nodiscard]] Node next_sibling() const;
  [[nodiscard]] Node child(Field field) const;
  [[nodiscard]] std::vector<Node> children() const;
  [[nodiscard]] std::vector<Node> children(Field field) const;
  // The closest node of this kind that holds this one (not itself).
  [[nodiscard]] Node ancestor(Kind kind) const;
  // Whether `other` lies at or below this node.
  [[nodiscard]] bool holds(Node other) const;

  // The first index after the subtree: [index(), subtree_end()) is the node with everything below
  // it.
  [[nodiscard]] std::uint32_t subtree_end() const;
  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] const Tree* tree() const { return tree_; }

 private:
  const Tree* tree_ = nullptr;
  std::uint32_t index_ = 0;
};

// One argument of a call: keyword is empty for positional ones.
struct Argument {
  std::string_view keyword;
  Node value;
  Node whole;  // the keyword_argument, or the value itself
};

struct ParseLimits {
  std::uint64_t max_bytes = 32ULL << 20U;
  std::uint32_t max_milliseconds = 1300;
  std::uint64_t max_parser_bytes = 320ULL << 20U;
  // The levels of the tree, and the levels summed over all nodes: they bound the cost of walks from
  // nodes to the root. CPython itself gives up at far fewer (200 parentheses, 100 indentations,
  // some thousand operators).
  std::uint32_t max_depth = 4000;
  std::uint64_t max_total_depth = 400'000'000;
  // The nodes of a tree: they bound the memory of what reads it, some 70 bytes a node.
  std::uint32_t max_nodes = 3'000'000;
  // Whether this is the program of a notebook, whose cells may have any indentation (see
  // misplaced_statement()).
  bool indented_cells = false;
  // Which of the two parsers may be used; a test compares them. See parser_paths.h.
  enum class Paths : std::uint8_t { kBoth, kQuick, kGrammar };
  Paths paths = Paths::kBoth;
};

class Tree {
 public:
  // Parses Python 3. Fails with kEncoding (Python could not decode it, or it contains NUL) and
  // kBudget (a limit was reached). A syntax error is not a failure: see has_syntax_error().
  [[nodiscard]] static base::Result<std::shared_ptr<const Tree>> parse(
      std::string source, const ParseLimits& limits = {});

  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] const base::LineIndex& lines() const { return *lines_; }
  [[nodiscard]] Node root() const { return {this, 0}; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(records_.size()); }
  [[nodiscard]] Node at(std::uint32_t index) const { return {this, index}; }
  // Comments, in order.
  [[nodiscard]] const std::vector<Node>& comments() const { return comments_; }
  // Whether the text is not Python 3, and the offset of the first such place.
  [[nodiscard]] bool has_syntax_error() const { return has_error_; }
  [[nodiscard]] std::uint32_t syntax_error_offset() const { return error_offset_; }

 private:
  friend class Node;
  friend class TreeBuilder;
  friend class TreeParse;
  friend class PythonParser;

  struct Record {
    Kind kind;
    Field field;
    std::uint32_t start;
    std::uint32_t end;
    std::uint32_t parent;
    std::uint32_t subtree_end;
  };

  Tree() = default;

  std::string source_;
  std::unique_ptr<base::LineIndex> lines_;
  std::vector<Record> records_;
  std::vector<Node> comments_;
  bool has_error_ = false;
  std::uint32_t error_offset_ = 0;
};

// These accessors are inline because every walk calls them for every node.
inline Kind Node::kind() const {
  return tree_ == nullptr ? Kind::kOther : tree_->records_[index_].kind;
}
inline Field Node::field() const {
  return tree_ == nullptr ? Field::kNone : tree_->records_[index_].field;
}
inline std::uint32_t Node::start() const {
  return tree_ == nullptr ? 0 : tree_->records_[index_].start;
}
inline std::uint32_t Node::end() const {
  return tree_ == nullptr ? 0 : tree_->records_[index_].end;
}
inline std::uint32_t Node::subtree_end() const {
  return tree_ == nullptr ? 0 : tree_->records_[index_].subtree_end;
}
inline Node Node::parent() const {
  if (tree_ == nullptr || index_ == 0) return {};
  return {tree_, tree_->records_[index_].parent};
}
inline std::string_view Node::text() const {
  if (tree_ == nullptr) return {};
  return std::string_view(tree_->source_).substr(start(), end() - start());
}
inline Node Node::next_sibling() const {
  if (tree_ == nullptr || index_ == 0) return {};
  const std::uint32_t stop = tree_->records_[tree_->records_[index_].parent].subtree_end;
  std::uint32_t next = subtree_end();
  while (next < stop && is_extra(tree_->records_[next].kind))
    next = tree_->records_[next].subtree_end;
  return next < stop ? Node{tree_, next} : Node{};
}
inline Node Node::first_child() const {
  if (tree_ == nullptr || index_ + 1 >= subtree_end()) return {};
  const Node first{tree_, index_ + 1};
  return is_extra(first.kind()) ? first.next_sibling() : first;
}

// --- Questions about single nodes that every layer above asks -------------

// The callee of a call, its arguments (splats have the keyword "*" or "**"), its n-th positional
// argument, and its argument with that keyword.
[[nodiscard]] Node callee(Node call);
[[nodiscard]] std::vector<Argument> arguments(Node call);
[[nodiscard]] Node positional(Node call, std::size_t index);
[[nodiscard]] Node keyword(Node call, std::string_view name);
// keyword(name), or positional(index) if there is no such keyword.
[[nodiscard]] Node argument(Node call, std::size_t index, std::string_view name);
[[nodiscard]] bool has_splat(Node call);

// The last part of a dotted expression: "c" in `a.b.c`. Of any other expression it is the text.
[[nodiscard]] std::string_view end_of_name(Node expression);
// Removes parentheses around an expression.
[[nodiscard]] Node unwrap(Node expression);
// Reads the value of a plain string literal: no f-string with interpolations, only trivial escapes.
// Returns false for anything else.
[[nodiscard]] bool string_value(Node node, std::string& value);
// The statement that contains the node and is a direct child of a block or module.
[[nodiscard]] Node statement_of(Node node);
// The closest function definition or lambda around the node.
[[nodiscard]] Node function_of(Node node);
// The node that an offset is in, as far inside as possible.
[[nodiscard]] Node node_at(const Tree& tree, std::uint32_t offset);
// The closest class around the node whose body contains it directly or through methods.
[[nodiscard]] Node class_of(Node node);

}  // namespace torchport::syntax
