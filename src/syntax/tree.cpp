#include "syntax/tree.h"

namespace torchport::syntax {

Kind Node::kind() const { return tree_ == nullptr ? Kind::kOther : tree_->records_[index_].kind; }
Field Node::field() const { return tree_ == nullptr ? Field::kNone : tree_->records_[index_].field; }
std::uint32_t Node::start() const { return tree_ == nullptr ? 0 : tree_->records_[index_].start; }
std::uint32_t Node::end() const { return tree_ == nullptr ? 0 : tree_->records_[index_].end; }
std::uint32_t Node::subtree_end() const { return tree_ == nullptr ? 0 : tree_->records_[index_].subtree_end; }

std::string_view Node::text() const {
  if (tree_ == nullptr) return {};
  return std::string_view(tree_->source_).substr(start(), end() - start());
}

Node Node::parent() const {
  if (tree_ == nullptr || index_ == 0) return {};
  return {tree_, tree_->records_[index_].parent};
}

Node Node::first_child() const {
  if (tree_ == nullptr || index_ + 1 >= subtree_end()) return {};
  const Node first{tree_, index_ + 1};
  return first.is(Kind::kComment) ? first.next_sibling() : first;
}

Node Node::next_sibling() const {
  if (tree_ == nullptr || index_ == 0) return {};
  const std::uint32_t stop = parent().subtree_end();
  std::uint32_t next = subtree_end();
  while (next < stop && tree_->records_[next].kind == Kind::kComment) next = tree_->records_[next].subtree_end;
  return next < stop ? Node{tree_, next} : Node{};
}

Node Node::child(Field field) const {
  for (Node child = first_child(); child; child = child.next_sibling()) {
    if (child.field() == field) return child;
  }
  return {};
}

std::vector<Node> Node::children() const {
  std::vector<Node> result;
  for (Node child = first_child(); child; child = child.next_sibling()) result.push_back(child);
  return result;
}

std::vector<Node> Node::children(Field field) const {
  std::vector<Node> result;
  for (Node child = first_child(); child; child = child.next_sibling()) {
    if (child.field() == field) result.push_back(child);
  }
  return result;
}

Node Node::ancestor(Kind kind) const {
  for (Node up = parent(); up; up = up.parent()) {
    if (up.is(kind)) return up;
  }
  return {};
}

bool Node::holds(Node other) const {
  return tree_ != nullptr && other.tree_ == tree_ && other.index_ >= index_ && other.index_ < subtree_end();
}

}  // namespace torchport::syntax
