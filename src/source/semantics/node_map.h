// A map from the nodes of one tree to what is known about them. A tree's nodes are numbered, so
// that it needs no hashing.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace torchport::semantics {

// Not thread-safe. References to values stay valid until clear(), also when others are added.
template <class T>
class NodeMap {
 public:
  // For nodes with the indexes [0, size). Holds no memory until the first value comes.
  explicit NodeMap(std::uint32_t size) : size_(size) {}

  [[nodiscard]] T* find(std::uint32_t node) {
    const std::uint32_t slot = node < slots_.size() ? slots_[node] : 0;
    return slot == 0 ? nullptr : &values_[slot - 1];
  }

  // The value of the node is this one from now on.
  T& put(std::uint32_t node, T value) {
    if (T* const known = find(node)) return *known = std::move(value);
    if (slots_.empty()) slots_.resize(size_, 0);
    values_.push_back(std::move(value));
    slots_.at(node) = static_cast<std::uint32_t>(values_.size());
    return values_.back();
  }

  // Forgets a node; its value is kept, unreachable, until the map ends.
  void erase(std::uint32_t node) {
    if (node < slots_.size()) slots_[node] = 0;
  }

 private:
  std::uint32_t size_;
  std::vector<std::uint32_t> slots_;  // the number of the value and one; 0 if there is none
  std::deque<T> values_;
};

}  // namespace torchport::semantics
