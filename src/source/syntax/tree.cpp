#include "source/syntax/tree.h"

namespace torchport::syntax {

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
  return tree_ != nullptr && other.tree_ == tree_ && other.index_ >= index_ &&
         other.index_ < subtree_end();
}

}  // namespace torchport::syntax
