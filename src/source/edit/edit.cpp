#include "source/edit/edit.h"

#include <algorithm>
#include <array>

namespace torchport::edit {

bool is_read_by_tools(std::string_view comment) {
  // In lower case.
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"noqa", "type:", "pylint", "pragma", "fmt:", "yapf", "isort", "mypy", "pyright", "flake8",
       "ruff", "nosec", "torchport", "%%"});
  const std::string lower = base::lower(comment);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

std::string_view applicability_name(Applicability applicability) {
  switch (applicability) {
    case Applicability::kSafe:
      return "safe";
    case Applicability::kUnsafe:
      return "unsafe";
    case Applicability::kDisplay:
      return "display";
  }
  return "display";
}

std::string apply_edits(std::string_view text, const std::vector<Edit>& edits) {
  std::string result;
  result.reserve(text.size() + 256);
  std::size_t copied = 0;
  for (const Edit& edit : edits) {
    result.append(text.substr(copied, edit.span.start - copied));
    result.append(edit.text);
    copied = edit.span.end;
  }
  result.append(text.substr(copied));
  return result;
}

void sort_edits(std::vector<Edit>& edits) {
  std::stable_sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) {
    return a.span.start != b.span.start ? a.span.start < b.span.start : a.span.end < b.span.end;
  });
}

bool overlap(const Edit& a, const Edit& b) {
  if (a.span.start == b.span.start && (a.span.size() == 0) == (b.span.size() == 0)) return true;
  return a.span.start < b.span.end && b.span.start < a.span.end;
}

}  // namespace torchport::edit
