#include "source/rules/build/common/dockerfile.h"

#include <algorithm>

namespace torchport::rules {

namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return result;
}

}  // namespace

std::vector<DockerInstruction> docker_instructions(const base::LineIndex& lines) {
  std::vector<DockerInstruction> result;
  bool continued = false;
  for (std::uint32_t number = 1; number <= lines.line_count(); ++number) {
    std::string_view text = lines.line(number);
    std::uint32_t offset = lines.line_start(number);
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos || text[first] == '#') continue;
    text.remove_prefix(first);
    offset += static_cast<std::uint32_t>(first);
    if (!continued) {
      const auto end = std::min(text.find_first_of(" \t"), text.size());
      result.push_back({upper(text.substr(0, end)), lines.line_start(number), {}});
      const auto rest = std::min(text.find_first_not_of(" \t", end), text.size());
      text.remove_prefix(rest);
      offset += static_cast<std::uint32_t>(rest);
    }
    const std::string_view whole = base::trim(text);
    continued = whole.ends_with('\\');
    result.back().lines.push_back({whole, offset});
  }
  return result;
}

}  // namespace torchport::rules
