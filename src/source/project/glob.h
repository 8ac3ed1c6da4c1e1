// Matches paths against patterns as .gitignore writes them (gitignore(5)). libgit2 was rejected: it
// needs a repository, and loading it costs more than the check of a small project.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchport::project {

// One line of a .gitignore, or one entry of `exclude`.
class Glob {
 public:
  // `line` has no line end. A comment or a blank line gives a pattern that matches nothing.
  explicit Glob(std::string_view line);

  [[nodiscard]] bool empty() const { return parts_.empty(); }
  [[nodiscard]] bool negated() const { return negated_; }
  // `path` is relative to the folder of the file that contains the pattern, with '/' between its
  // parts.
  [[nodiscard]] bool matches(std::string_view path, bool is_directory) const;

 private:
  std::vector<std::string> parts_;  // split at '/', "**" kept
  bool negated_ = false;
  bool directory_only_ = false;
  bool anchored_ = false;
};

// A list of patterns. The last one that matches decides.
class GlobList {
 public:
  void add(std::string_view line);
  void add_lines(std::string_view text);
  [[nodiscard]] bool empty() const { return globs_.empty(); }
  // 1 if the path is ignored, 0 if no pattern matches, -1 if a "!" pattern includes it again.
  [[nodiscard]] int decide(std::string_view path, bool is_directory) const;

 private:
  std::vector<Glob> globs_;
};

}  // namespace torchport::project
