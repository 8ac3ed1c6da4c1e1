// The lines that a change touches, for reports that show only what the change brings.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "source/project/check.h"

namespace torchport::project {

// Paths are relative to the top of the repository; lines are one-based and inclusive.
class ChangedLines {
 public:
  // Adds what a patch of `git diff --unified=0 --src-prefix=a/ --dst-prefix=b/` adds or changes.
  // A line that is only deleted is not there to be touched. Ignores what it cannot read.
  void add_patch(std::string_view patch);
  // Adds all lines of a file.
  void add_file(std::string path) {
    lines_[std::move(path)].emplace_back(1, std::numeric_limits<std::uint32_t>::max());
  }

  [[nodiscard]] bool touches(const std::string& path, std::uint32_t first,
                             std::uint32_t last) const;
  [[nodiscard]] bool touches_file(const std::string& path) const { return lines_.contains(path); }

 private:
  using Range = std::pair<std::uint32_t, std::uint32_t>;
  std::map<std::string, std::vector<Range>> lines_;
};

// Removes from the report the findings outside of the changed lines, and the problems of files that
// the change does not touch. `top` is the top of the repository, a real path. Returns how many
// findings it removed.
std::size_t keep_changed(CheckReport& report, const ChangedLines& changed,
                         const base::FileSystem& fs, const std::string& top);

}  // namespace torchport::project
