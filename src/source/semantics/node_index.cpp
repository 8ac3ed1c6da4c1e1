#include "source/semantics/node_index.h"

#include <algorithm>

namespace torchport::semantics {

Nodes Nodes::within(Node range) const {
  if (!range) return {};
  const auto* first = std::lower_bound(first_, last_, range.index());
  return {tree_, first, std::lower_bound(first, last_, range.subtree_end())};
}

Node Nodes::after(Node place) const {
  const auto* at = std::lower_bound(first_, last_, place.subtree_end());
  return at == last_ ? Node() : Node(tree_, *at);
}

Nodes NodeIndex::of_kind(Kind kind) const {
  if (starts_.empty()) {
    // A counting sort keeps the nodes of a kind in source order.
    starts_.assign(static_cast<std::size_t>(Kind::kCount) + 1, 0);
    for (std::uint32_t i = 0; i < tree_->size(); ++i)
      ++starts_[static_cast<std::size_t>(tree_->at(i).kind()) + 1];
    for (std::size_t k = 1; k < starts_.size(); ++k) starts_[k] += starts_[k - 1];
    order_.resize(tree_->size());
    std::vector<std::uint32_t> next(starts_.begin(), starts_.end() - 1);
    for (std::uint32_t i = 0; i < tree_->size(); ++i)
      order_[next[static_cast<std::size_t>(tree_->at(i).kind())]++] = i;
  }
  const auto at = static_cast<std::size_t>(kind);
  return {tree_, order_.data() + starts_[at], order_.data() + starts_[at + 1]};
}

// Numbers the names, and sorts the identifiers by these numbers as of_kind() sorts nodes by kind.
void NodeIndex::index_names() const {
  std::vector<std::uint32_t> numbers;
  name_starts_.assign(1, 0);
  for (const Node name : of_kind(Kind::kIdentifier)) {
    const auto number = static_cast<std::uint32_t>(names_.size());
    const auto [entry, fresh] = names_.try_emplace(name.text(), number);
    if (fresh) name_starts_.push_back(0);
    numbers.push_back(entry->second);
    ++name_starts_[entry->second + 1];
  }
  for (std::size_t k = 1; k < name_starts_.size(); ++k) name_starts_[k] += name_starts_[k - 1];
  named_.resize(numbers.size());
  std::vector<std::uint32_t> next(name_starts_.begin(), name_starts_.end() - 1);
  std::size_t at = 0;
  for (const Node name : of_kind(Kind::kIdentifier)) named_[next[numbers[at++]]++] = name.index();
}

Nodes NodeIndex::named(std::string_view text) const {
  if (names_.empty()) index_names();
  const auto found = names_.find(text);
  if (found == names_.end()) return {};
  return {tree_, named_.data() + name_starts_[found->second],
          named_.data() + name_starts_[found->second + 1]};
}

}  // namespace torchport::semantics
