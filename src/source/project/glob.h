// Matches paths against patterns as .gitignore writes them (gitignore(5)). libgit2 was rejected: it
// needs a repository, and loading it costs more than the check of a small project.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
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
  // The same for the parts of a path.
  [[nodiscard]] bool matches(const std::vector<std::string>& parts, bool is_directory) const;

  // What a list finds a pattern by, so that it does not try them all: the last name of a path, or
  // all of it, is or begins or ends with `text`. kOther: the pattern has to be tried.
  enum class Form : std::uint8_t { kName, kPath, kNameBegins, kNameEnds, kOther };
  struct Key {
    Form form = Form::kOther;
    std::string text;
  };
  [[nodiscard]] Key key() const;

 private:
  std::vector<std::string> parts_;  // split at '/', "**" kept
  bool negated_ = false;
  bool directory_only_ = false;
  bool anchored_ = false;
};

// A list of patterns. The last one that matches decides. A question takes time by the length of the
// path, and by the number of patterns with wildcards that are not at one end of a name: a list may
// have hundreds of thousands of names.
class GlobList {
 public:
  void add(std::string_view line);
  void add_lines(std::string_view text);
  [[nodiscard]] bool empty() const { return globs_.empty(); }
  // 1 if the path is ignored, 0 if no pattern matches, -1 if a "!" pattern includes it again.
  [[nodiscard]] int decide(std::string_view path, bool is_directory) const;

 private:
  using Indices = std::vector<std::size_t>;  // of patterns, ascending
  using ByText = std::unordered_map<std::string, Indices>;
  struct Ends {
    ByText by_text;
    std::set<std::size_t> lengths;  // of the texts
  };

  // The last pattern of `indices` after `best` that matches; `best` if there is none.
  [[nodiscard]] std::size_t last_of(const Indices& indices, const std::vector<std::string>& parts,
                                    bool is_directory, std::size_t best) const;

  std::vector<Glob> globs_;
  ByText names_;
  ByText paths_;
  Ends beginnings_;
  Ends endings_;
  Indices others_;
};

}  // namespace torchport::project
