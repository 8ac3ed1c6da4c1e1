// Patterns as .gitignore writes them (gitignore(5)).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchport::project {

// One line of a .gitignore, or one entry of `exclude`.
class Glob {
 public:
  // `line` without its line end; comments and blank lines give a pattern that
  // matches nothing.
  explicit Glob(std::string_view line);

  [[nodiscard]] bool empty() const { return parts_.empty(); }
  [[nodiscard]] bool negated() const { return negated_; }
  // `path` is relative to the folder of the file the pattern stands in, with
  // '/' between its parts.
  [[nodiscard]] bool matches(std::string_view path, bool is_directory) const;

 private:
  std::vector<std::string> parts_;  // split at '/', "**" kept
  bool negated_ = false;
  bool directory_only_ = false;
  bool anchored_ = false;
};

// A list of patterns where the last match wins.
class GlobList {
 public:
  void add(std::string_view line);
  void add_lines(std::string_view text);
  [[nodiscard]] bool empty() const { return globs_.empty(); }
  // 1 ignored, 0 no pattern speaks of it, -1 taken back by a "!" pattern.
  [[nodiscard]] int decide(std::string_view path, bool is_directory) const;

 private:
  std::vector<Glob> globs_;
};

}  // namespace torchport::project
