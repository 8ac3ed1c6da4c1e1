#include "project/glob.h"

#include <fnmatch.h>

#include "base/text.h"

namespace torchport::project {

namespace {

bool match_parts(const std::vector<std::string>& pattern, std::size_t p, const std::vector<std::string>& path,
                 std::size_t i) {
  for (; p < pattern.size(); ++p, ++i) {
    if (pattern[p] == "**") {
      if (p + 1 == pattern.size()) return i < path.size();
      for (std::size_t skip = i; skip <= path.size(); ++skip) {
        if (match_parts(pattern, p + 1, path, skip)) return true;
      }
      return false;
    }
    if (i >= path.size() || fnmatch(pattern[p].c_str(), path[i].c_str(), 0) != 0) return false;
  }
  return i == path.size();
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string_view part : base::split(path, '/')) {
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  return parts;
}

}  // namespace

Glob::Glob(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) {
    if (line.size() > 1 && line[line.size() - 2] == '\\') break;
    line.remove_suffix(1);
  }
  if (line.empty() || line.front() == '#') return;
  if (line.front() == '!') {
    negated_ = true;
    line.remove_prefix(1);
  } else if (line.starts_with("\\#") || line.starts_with("\\!")) {
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    directory_only_ = true;
    line.remove_suffix(1);
  }
  anchored_ = line.find('/') != std::string_view::npos;
  parts_ = parts_of(line);
}

bool Glob::matches(std::string_view path, bool is_directory) const {
  if (parts_.empty() || (directory_only_ && !is_directory)) return false;
  const auto parts = parts_of(path);
  if (parts.empty()) return false;
  if (!anchored_) return fnmatch(parts_.front().c_str(), parts.back().c_str(), 0) == 0;
  return match_parts(parts_, 0, parts, 0);
}

void GlobList::add(std::string_view line) {
  Glob glob(line);
  if (!glob.empty()) globs_.push_back(std::move(glob));
}

void GlobList::add_lines(std::string_view text) {
  for (const std::string_view line : base::split(text, '\n')) add(line);
}

int GlobList::decide(std::string_view path, bool is_directory) const {
  for (auto glob = globs_.rbegin(); glob != globs_.rend(); ++glob) {
    if (glob->matches(path, is_directory)) return glob->negated() ? -1 : 1;
  }
  return 0;
}

}  // namespace torchport::project
