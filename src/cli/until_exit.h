// Keeps large results until the program ends: the system takes their memory back at once, which is
// quicker than freeing each piece.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace torchport::cli {

// The value, which is never destroyed. Not for values whose destructors write or close something.
// Not thread-safe.
template <class T>
[[nodiscard]] T& until_exit(T value) {
  static auto& kept = *new std::vector<std::unique_ptr<T>>();
  return *kept.emplace_back(std::make_unique<T>(std::move(value)));
}

}  // namespace torchport::cli
