#include "source/project/glob.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include "base/text.h"

namespace torchport::project {

namespace {

bool match_part(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// A "**" takes as few parts as possible, and only the last "**" that was reached ever takes more.
// So many of them cost no more than one.
bool match_parts(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  std::size_t p = 0;
  std::size_t after_stars = pattern.size() + 1;  // where to continue after the last "**"; none yet
  std::size_t taken = 0;  // number of path parts up to the end of what "**" takes
  for (std::size_t i = 0; i < path.size();) {
    if (p < pattern.size() && pattern[p] == "**") {
      if (p + 1 == pattern.size()) return true;
      after_stars = ++p;
      taken = i;
    } else if (p < pattern.size() && match_part(pattern[p], path[i])) {
      ++p;
      ++i;
    } else if (after_stars <= pattern.size()) {
      p = after_stars;
      i = ++taken;
    } else {
      return false;
    }
  }
  // A "**" in the middle may match nothing, one at the end may not.
  while (p + 1 < pattern.size() && pattern[p] == "**") ++p;
  return p == pattern.size();
}

// Whether every "[" of a part is closed. In git a pattern with an open one matches nothing.
bool is_well_formed(std::string_view part) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '\\') {
      if (++i >= part.size()) return false;
    } else if (part[i] == '[') {
      std::size_t close = i + 1;
      if (close < part.size() && (part[close] == '!' || part[close] == '^')) ++close;
      if (close < part.size() && part[close] == ']') ++close;
      while (close < part.size() && part[close] != ']') close += part[close] == '\\' ? 2 : 1;
      if (close >= part.size()) return false;
      i = close;
    }
  }
  return true;
}

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, "/"));
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
  if (!std::all_of(parts_.begin(), parts_.end(), is_well_formed)) parts_.clear();
}

bool Glob::matches(std::string_view path, bool is_directory) const {
  return matches(parts_of(path), is_directory);
}

bool Glob::matches(const std::vector<std::string>& parts, bool is_directory) const {
  if (parts_.empty() || parts.empty() || (directory_only_ && !is_directory)) return false;
  return anchored_ ? match_parts(parts_, parts) : match_part(parts_.front(), parts.back());
}

Glob::Key Glob::key() const {
  const auto is_plain = [](std::string_view part) {
    return part.find_first_of("*?[\\") == std::string_view::npos;
  };
  if (anchored_) {
    if (!std::all_of(parts_.begin(), parts_.end(), is_plain)) return {};
    return {Form::kPath, joined(parts_)};
  }
  const std::string_view name = parts_.empty() ? std::string_view{} : parts_.front();
  if (is_plain(name)) return {Form::kName, std::string(name)};
  if (name.starts_with('*') && is_plain(name.substr(1)))
    return {Form::kNameEnds, std::string(name.substr(1))};
  if (name.ends_with('*') && is_plain(name.substr(0, name.size() - 1)))
    return {Form::kNameBegins, std::string(name.substr(0, name.size() - 1))};
  return {};
}

void GlobList::add(std::string_view line) {
  Glob glob(line);
  if (glob.empty()) return;
  const std::size_t index = globs_.size();
  Glob::Key key = glob.key();
  globs_.push_back(std::move(glob));
  const auto into = [&](Ends& ends) {
    ends.lengths.insert(key.text.size());
    ends.by_text[std::move(key.text)].push_back(index);
  };
  switch (key.form) {
    case Glob::Form::kName:
      names_[std::move(key.text)].push_back(index);
      break;
    case Glob::Form::kPath:
      paths_[std::move(key.text)].push_back(index);
      break;
    case Glob::Form::kNameBegins:
      into(beginnings_);
      break;
    case Glob::Form::kNameEnds:
      into(endings_);
      break;
    case Glob::Form::kOther:
      others_.push_back(index);
      break;
  }
}

void GlobList::add_lines(std::string_view text) {
  for (const std::string_view line : base::split(text, '\n')) add(line);
}

int GlobList::decide(std::string_view path, bool is_directory) const {
  const std::vector<std::string> parts = parts_of(path);
  if (parts.empty() || globs_.empty()) return 0;
  std::size_t best = kNone;
  const auto ask = [&](const ByText& by_text, const std::string& text) {
    const auto found = by_text.find(text);
    if (found != by_text.end()) best = last_of(found->second, parts, is_directory, best);
  };
  const std::string& name = parts.back();
  ask(names_, name);
  if (!paths_.empty()) ask(paths_, joined(parts));
  for (const std::size_t length : beginnings_.lengths)
    if (length <= name.size()) ask(beginnings_.by_text, name.substr(0, length));
  for (const std::size_t length : endings_.lengths)
    if (length <= name.size()) ask(endings_.by_text, name.substr(name.size() - length));
  best = last_of(others_, parts, is_directory, best);
  return best == kNone ? 0 : globs_[best].negated() ? -1 : 1;
}

std::size_t GlobList::last_of(const Indices& indices, const std::vector<std::string>& parts,
                              bool is_directory, std::size_t best) const {
  for (auto index = indices.rbegin(); index != indices.rend(); ++index) {
    if (best != kNone && *index <= best) break;
    if (globs_[*index].matches(parts, is_directory)) return *index;
  }
  return best;
}

}  // namespace torchport::project
