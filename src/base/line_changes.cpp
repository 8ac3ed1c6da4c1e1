#include "base/line_changes.h"

#include <algorithm>

#include <dtl/dtl.hpp>

namespace torchport::base {

namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kMost = 20'000;  // lines that are compared one by one

Lines part(const Lines& lines, std::size_t start, std::size_t end) {
  return {lines.begin() + static_cast<std::ptrdiff_t>(start),
          lines.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace

Lines whole_lines(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::vector<LineChange> changed_lines(const Lines& before, const Lines& after) {
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t head = 0;
  while (head < shorter && before[head] == after[head]) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  const Lines old = part(before, head, before.size() - tail);
  const Lines fresh = part(after, head, after.size() - tail);
  if (old.empty() && fresh.empty()) return {};
  if (old.empty() || fresh.empty() || old.size() + fresh.size() > kMost)
    return {{head, old.size(), fresh}};
  dtl::Diff<std::string> diff(old, fresh);
  diff.compose();
  std::vector<LineChange> changes;
  std::size_t at = head;  // in `before`
  bool open = false;      // the last change goes on
  for (const auto& [line, info] : diff.getSes().getSequence()) {
    if (info.type == dtl::SES_COMMON) {
      open = false;
      ++at;
      continue;
    }
    if (!open) changes.push_back({at, 0, {}});
    open = true;
    if (info.type == dtl::SES_ADD) {
      changes.back().added.push_back(line);
    } else {
      ++changes.back().removed;
      ++at;
    }
  }
  return changes;
}

}  // namespace torchport::base
