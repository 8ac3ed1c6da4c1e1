// Compares texts by lines. Thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace torchport::base {

// The lines of a text, each with its "\n".
[[nodiscard]] std::vector<std::string> whole_lines(std::string_view text);

// Lines in a row that a change replaces.
struct LineChange {
  std::size_t start = 0;  // the index of the first one; where they are inserted if none is removed
  std::size_t removed = 0;  // how many go
  std::vector<std::string> added;
};

// What makes `after` of `before`: the fewest lines, in order, with at least one common line between
// two changes. Texts that differ in more than 20,000 lines differ in one change.
[[nodiscard]] std::vector<LineChange> changed_lines(const std::vector<std::string>& before,
                                                    const std::vector<std::string>& after);

}  // namespace torchport::base
