#include <algorithm>

#include <dtl/dtl.hpp>
#include <fmt/format.h>

#include "base/line_changes.h"
#include "base/text.h"
#include "source/project/fix.h"

namespace torchport::project {

namespace {

void append_line(std::string& out, char mark, const std::string& line) {
  out += mark;
  out += line;
  if (line.empty() || line.back() != '\n') out += "\n\\ No newline at end of file\n";
}

// Removes what both texts have at their start and their end, without splitting a character.
edit::Edit shortened(std::uint32_t start, std::string_view before, std::string_view after) {
  const auto inside_character = [](std::string_view text, std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t head = 0;
  while (head < shorter && before[head] == after[head]) ++head;
  while (head > 0 && (inside_character(before, head) || inside_character(after, head))) --head;
  std::size_t tail = 0;
  while (tail < shorter - head &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  while (tail > 0 && inside_character(before, before.size() - tail)) --tail;
  return {{start + static_cast<std::uint32_t>(head),
           start + static_cast<std::uint32_t>(before.size() - tail)},
          std::string(after.substr(head, after.size() - tail - head))};
}

}  // namespace

std::vector<edit::Edit> line_edits(const std::string& before, const std::string& after) {
  const std::vector<std::string> lines = base::whole_lines(before);
  std::vector<edit::Edit> edits;
  std::size_t line = 0;
  std::uint32_t at = 0;  // the offset of `line`
  for (const base::LineChange& change : base::changed_lines(lines, base::whole_lines(after))) {
    for (; line < change.start; ++line) at += static_cast<std::uint32_t>(lines[line].size());
    std::string removed;
    for (std::size_t i = 0; i < change.removed; ++i) removed += lines[change.start + i];
    std::string added;
    for (const std::string& fresh : change.added) added += fresh;
    edits.push_back(shortened(at, removed, added));
  }
  return edits;
}

namespace {

// A name as git writes it in a patch: in quotes, with escapes, where it has characters that a
// terminal would obey, or that end it. `patch` and `git apply` read it.
std::string patch_name(std::string_view path) {
  std::string text;
  bool plain = true;
  for (std::size_t at = 0; at < path.size();) {
    std::size_t length = base::control_at(path, at);
    if (path[at] == '\n' || path[at] == '\t') length = 1;
    if (length == 0 && (path[at] == '"' || path[at] == '\\')) {
      text.append(1, '\\').append(1, path[at++]);
      plain = false;
    } else if (length == 0) {
      text += path[at++];
    } else {
      for (; length > 0; --length, ++at)
        text += fmt::format("\\{:03o}", static_cast<unsigned char>(path[at]));
      plain = false;
    }
  }
  if (!plain) return "\"" + text + "\"";
  // `patch` takes a name with a space only if a tab ends it, as git writes it.
  return text.find(' ') == std::string::npos ? text : text + "\t";
}

}  // namespace

std::string unified_diff(const Change& change) {
  dtl::Diff<std::string> diff(base::whole_lines(change.before), base::whole_lines(change.after));
  diff.compose();
  diff.composeUnifiedHunks();
  std::string out =
      fmt::format("--- {}\n+++ {}\n", change.created ? "/dev/null" : patch_name(change.path),
                  patch_name(change.path));
  for (const auto& hunk : diff.getUniHunks()) {
    out += fmt::format("@@ -{},{} +{},{} @@\n", change.before.empty() ? 0 : hunk.a, hunk.b, hunk.c,
                       hunk.d);
    for (const auto& line : hunk.common[0]) append_line(out, ' ', line.first);
    for (const auto& entry : hunk.change) {
      append_line(out,
                  entry.second.type == dtl::SES_DELETE ? '-'
                  : entry.second.type == dtl::SES_ADD  ? '+'
                                                       : ' ',
                  entry.first);
    }
    for (const auto& line : hunk.common[1]) append_line(out, ' ', line.first);
  }
  return out;
}

}  // namespace torchport::project
