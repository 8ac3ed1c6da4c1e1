// Indexes the nodes of a tree by kind, and its identifiers by name. Rules ask for both again and
// again; without the index each question would walk the tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "source/syntax/tree.h"

namespace torchport::semantics {

using syntax::Kind;
using syntax::Node;
using syntax::Tree;

// Some nodes of one tree, in source order. It is valid as long as the index and the tree are.
class Nodes {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Node;
    using difference_type = std::ptrdiff_t;
    using pointer = const Node*;
    using reference = Node;

    Iterator(const Tree* tree, const std::uint32_t* at) : tree_(tree), at_(at) {}
    Node operator*() const { return {tree_, *at_}; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Tree* tree_;
    const std::uint32_t* at_;
  };

  Nodes() = default;
  Nodes(const Tree* tree, const std::uint32_t* first, const std::uint32_t* last)
      : tree_(tree), first_(first), last_(last) {}

  [[nodiscard]] Iterator begin() const { return {tree_, first_}; }
  [[nodiscard]] Iterator end() const { return {tree_, last_}; }
  [[nodiscard]] bool empty() const { return first_ == last_; }
  // The nodes at or below `range`; none if `range` is invalid.
  [[nodiscard]] Nodes within(Node range) const;
  // The first of them that comes after `place` and is not below it; invalid if there is none.
  [[nodiscard]] Node after(Node place) const;

 private:
  const Tree* tree_ = nullptr;
  const std::uint32_t* first_ = nullptr;
  const std::uint32_t* last_ = nullptr;
};

// Belongs to one thread, because it is filled at the first question.
class NodeIndex {
 public:
  explicit NodeIndex(const Tree& tree) : tree_(&tree) {}

  // All nodes of a kind.
  [[nodiscard]] Nodes of_kind(Kind kind) const;
  // The identifiers with this text: names, attribute names, keywords.
  [[nodiscard]] Nodes named(std::string_view text) const;

 private:
  void index_names() const;

  const Tree* tree_;
  mutable std::vector<std::uint32_t> order_;   // node indexes, by kind
  mutable std::vector<std::uint32_t> starts_;  // the start of each kind in order_
  // The numbers of the names; the start of each name's nodes in named_.
  mutable std::unordered_map<std::string_view, std::uint32_t> names_;
  mutable std::vector<std::uint32_t> name_starts_;
  mutable std::vector<std::uint32_t> named_;
};

}  // namespace torchport::semantics
