#include "source/edit/spans.h"

#include <algorithm>
#include <iterator>

namespace torchport::edit {

std::vector<base::Span> outermost(std::vector<base::Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const base::Span& a, const base::Span& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::vector<base::Span> outer;
  for (const base::Span& span : spans)
    if (outer.empty() || span.start >= outer.back().end) outer.push_back(span);
  return outer;
}

bool covers(const std::vector<base::Span>& spans, std::uint32_t offset) {
  const auto after =
      std::upper_bound(spans.begin(), spans.end(), offset,
                       [](std::uint32_t at, const base::Span& span) { return at < span.start; });
  return after != spans.begin() && offset < std::prev(after)->end;
}

}  // namespace torchport::edit
