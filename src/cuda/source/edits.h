// Changes of a text, by their places in the old text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace torchport::cuda {

class Edits {
 public:
  explicit Edits(std::string_view text) : text_(text) {}

  // Line ends of what is replaced stay.
  void replace(std::size_t begin, std::size_t end, std::string with) {
    const auto ends = static_cast<std::size_t>(
        std::count(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                   text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    const auto kept = static_cast<std::size_t>(std::count(with.begin(), with.end(), '\n'));
    if (kept < ends) with.append(ends - kept, '\n');
    edits_.push_back({begin, end, std::move(with)});
  }
  void insert(std::size_t at, std::string what) { edits_.push_back({at, at, std::move(what)}); }

  // Edits may not overlap; those at one place are applied in the order in which they were made.
  [[nodiscard]] std::string applied() {
    std::stable_sort(edits_.begin(), edits_.end(),
                     [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string result;
    result.reserve(text_.size() + edits_.size() * 64);
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
      if (edit.begin < at) continue;  // within something that was replaced
      result += text_.substr(at, edit.begin - at);
      result += edit.with;
      at = edit.end;
    }
    result += text_.substr(at);
    return result;
  }

 private:
  struct Edit {
    std::size_t begin;
    std::size_t end;
    std::string with;
  };
  std::string_view text_;
  std::vector<Edit> edits_;
};

}  // namespace torchport::cuda
