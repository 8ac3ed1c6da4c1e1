#include "source/semantics/node_index.h"

#include <algorithm>

namespace torchport::semantics {

Nodes Nodes::within(Node range) const {
  if (!range) return {};
  const auto* first = std::lower_bound(first_, last_, range.index());
  return {tree_, first, std::lower_bound(first, last_, range.subtree_end())};
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

Nodes NodeIndex::named(std::string_view text) const {
  if (names_.empty()) {
    for (const Node name : of_kind(Kind::kIdentifier)) names_[name.text()].push_back(name.index());
  }
  const auto found = names_.find(text);
  if (found == names_.end()) return {};
  return {tree_, found->second.data(), found->second.data() + found->second.size()};
}

}  // namespace torchport::semantics
