#include "source/project/changed_lines.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace torchport::project {

namespace {

// The byte that an escape of C's syntax stands for; `at` is that of the character after the
// backslash and becomes that of the last one.
char unescaped(std::string_view text, std::size_t& at) {
  static constexpr std::string_view kNames = "abfnrtv";
  static constexpr std::string_view kBytes = "\a\b\f\n\r\t\v";
  const char c = text[at];
  if (const auto name = kNames.find(c); name != std::string_view::npos) return kBytes[name];
  if (c < '0' || c > '7') return c;
  unsigned value = 0;
  const std::size_t end = std::min(at + 3, text.size());
  for (; at < end && text[at] >= '0' && text[at] <= '7'; ++at)
    value = value * 8 + static_cast<unsigned>(text[at] - '0');
  --at;
  return static_cast<char>(value);
}

// The path in a line "+++ b/path": quoted as C does, or plain, then with a tab behind it if it has
// a blank. None for /dev/null.
std::optional<std::string> new_path(std::string_view name) {
  std::string path;
  if (name.starts_with('"')) {
    std::size_t i = 1;
    for (; i < name.size() && name[i] != '"'; ++i)
      path += name[i] == '\\' && i + 1 < name.size() ? unescaped(name, ++i) : name[i];
    if (i == name.size()) return std::nullopt;
  } else {
    path = name.substr(0, name.find('\t'));
  }
  if (!path.starts_with("b/")) return std::nullopt;
  return path.substr(2);
}

// Reads "12,3" or "12" and advances; a missing count is 1.
struct Hunk {
  std::uint32_t start = 0;
  std::uint32_t count = 1;
};
std::optional<Hunk> read_hunk(std::string_view& text) {
  Hunk hunk;
  const auto number = [&](std::uint32_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc();
  };
  if (!number(hunk.start)) return std::nullopt;
  if (!text.starts_with(',')) return hunk;
  text.remove_prefix(1);
  if (!number(hunk.count)) return std::nullopt;
  return hunk;
}

// Reads "@@ -1,2 +3,4 @@": the lines before and after.
std::optional<std::pair<Hunk, Hunk>> read_hunks(std::string_view line) {
  if (!line.starts_with("@@ -")) return std::nullopt;
  line.remove_prefix(4);
  const auto before = read_hunk(line);
  if (!before || !line.starts_with(" +")) return std::nullopt;
  line.remove_prefix(2);
  const auto after = read_hunk(line);
  if (!after || !line.starts_with(" @@")) return std::nullopt;
  return std::pair(*before, *after);
}

}  // namespace

void ChangedLines::add_patch(std::string_view patch) {
  std::vector<Range>* file = nullptr;
  // The lines of a hunk are counted, because they may look like headers.
  std::uint64_t left = 0;
  while (!patch.empty()) {
    const std::size_t end = std::min(patch.find('\n'), patch.size());
    const std::string_view line = patch.substr(0, end);
    patch.remove_prefix(std::min(end + 1, patch.size()));
    if (left > 0) {
      if (!line.starts_with('\\')) --left;
      continue;
    }
    if (line.starts_with("diff --git ")) {
      file = nullptr;
    } else if (line.starts_with("+++ ")) {
      const auto path = new_path(line.substr(4));
      file = path ? &lines_[*path] : nullptr;
    } else if (const auto hunks = read_hunks(line)) {
      const auto& [before, after] = *hunks;
      left = std::uint64_t{before.count} + after.count;
      if (file != nullptr && after.count > 0)
        file->emplace_back(after.start, after.start + after.count - 1);
    }
  }
}

bool ChangedLines::touches(const std::string& path, std::uint32_t first, std::uint32_t last) const {
  const auto file = lines_.find(path);
  if (file == lines_.end()) return false;
  return std::any_of(file->second.begin(), file->second.end(), [&](const Range& range) {
    return range.first <= last && first <= range.second;
  });
}

std::size_t keep_changed(CheckReport& report, const ChangedLines& changed,
                         const base::FileSystem& fs, const std::string& top) {
  std::map<std::string, std::string> known;
  const auto in_repository = [&](const std::string& path) -> const std::string& {
    const auto [entry, is_new] = known.try_emplace(path);
    if (is_new) {
      const std::string real = fs.canonical(path).value_or(path);
      if (real.starts_with(top + "/")) entry->second = real.substr(top.size() + 1);
    }
    return entry->second;
  };
  const std::size_t all = report.diagnostics.size();
  std::erase_if(report.diagnostics, [&](const Diagnostic& d) {
    // An end at the start of a line does not reach into it.
    const bool before_line = d.end_column == 1 && d.end_line > d.line;
    return !changed.touches(in_repository(d.path), d.line, d.end_line - (before_line ? 1 : 0));
  });
  std::erase_if(report.problems, [&](const base::Error& problem) {
    return !changed.touches_file(in_repository(problem.path));
  });
  return all - report.diagnostics.size();
}

}  // namespace torchport::project
