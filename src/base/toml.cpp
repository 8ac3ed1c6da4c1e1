#include "base/toml.h"

#include <algorithm>

namespace torchport::base {

namespace {

constexpr std::size_t kMostParts = 128;

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == ' ' || c == '\t' || static_cast<unsigned char>(c) >= 0x80;
}

// The place behind the string that begins at `at`.
std::size_t behind_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool is_long = text.substr(at).starts_with(three);
  for (at += is_long ? 3 : 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (is_long ? text.substr(at).starts_with(three)
                       : text[at] == quote || text[at] == '\n') {
      return at + (is_long ? 3 : 1);
    }
  }
  return text.size();
}

}  // namespace

std::optional<std::uint32_t> line_of_deep_key(std::string_view text) {
  std::size_t parts = 1;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = behind_string(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '.') {
      if (++parts > kMostParts)
        return 1 + static_cast<std::uint32_t>(std::count(
                       text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    } else if (!is_of_name(c)) {
      parts = 1;
    }
    ++at;
  }
  return std::nullopt;
}

}  // namespace torchport::base
