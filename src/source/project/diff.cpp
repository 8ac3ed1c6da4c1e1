#include <dtl/dtl.hpp>
#include <fmt/format.h>

#include "source/project/fix.h"

namespace torchport::project {

namespace {

// Lines with their line ends.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start < text.size()) {
    std::size_t end = text.find('\n', start);
    end = end == std::string::npos ? text.size() : end + 1;
    lines.push_back(text.substr(start, end - start));
    start = end;
  }
  return lines;
}

void append_line(std::string& out, char mark, const std::string& line) {
  out += mark;
  out += line;
  if (line.empty() || line.back() != '\n') out += "\n\\ No newline at end of file\n";
}

}  // namespace

std::string unified_diff(const Change& change) {
  dtl::Diff<std::string> diff(lines_of(change.before), lines_of(change.after));
  diff.compose();
  diff.composeUnifiedHunks();
  std::string out = fmt::format("--- {0}\n+++ {0}\n", change.path);
  for (const auto& hunk : diff.getUniHunks()) {
    out += fmt::format("@@ -{},{} +{},{} @@\n", hunk.a, hunk.b, hunk.c, hunk.d);
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
