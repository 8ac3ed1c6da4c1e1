#include "source/server/position.h"

#include <algorithm>
#include <limits>

namespace torchport::server {

namespace {

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// The code units of the character that starts with this byte.
std::uint32_t utf16_units(char first) {
  if (continues(first)) return 0;
  return static_cast<unsigned char>(first) >= 0xF0U ? 2 : 1;
}

std::uint32_t read_number(const Json& json) {
  if (json.is_number_unsigned())
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(
        json.get<std::uint64_t>(), std::numeric_limits<std::int32_t>::max()));
  if (json.get<double>() <= 0) return 0;
  return static_cast<std::uint32_t>(
      std::min<double>(json.get<double>(), std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

std::uint32_t offset_at(const base::LineIndex& lines, Position position, Encoding encoding) {
  if (position.line >= lines.line_count()) return static_cast<std::uint32_t>(lines.text().size());
  const std::uint32_t start = lines.line_start(position.line + 1);
  const std::string_view line = lines.line(position.line + 1);
  std::size_t at = 0;
  if (encoding == Encoding::kUtf8) {
    at = std::min<std::size_t>(position.character, line.size());
    while (at > 0 && at < line.size() && continues(line[at])) --at;
    return start + static_cast<std::uint32_t>(at);
  }
  std::uint32_t units = 0;
  while (at < line.size()) {
    const std::uint32_t size = utf16_units(line[at]);
    if (units + size > position.character) break;
    units += size;
    ++at;
    while (at < line.size() && continues(line[at])) ++at;
  }
  return start + static_cast<std::uint32_t>(at);
}

Position position_at(const base::LineIndex& lines, std::uint32_t offset, Encoding encoding) {
  offset = std::min(offset, static_cast<std::uint32_t>(lines.text().size()));
  const std::uint32_t line = lines.at(offset).line;
  const std::uint32_t start = lines.line_start(line);
  const std::string_view before = lines.text().substr(start, offset - start);
  if (encoding == Encoding::kUtf8) return {line - 1, static_cast<std::uint32_t>(before.size())};
  std::uint32_t units = 0;
  for (const char byte : before) units += utf16_units(byte);
  return {line - 1, units};
}

Position read_position(const Json& json) {
  return {read_number(json.at("line")), read_number(json.at("character"))};
}

Json range_json(const base::LineIndex& lines, base::Span span, Encoding encoding) {
  const auto json = [&](std::uint32_t offset) {
    const Position position = position_at(lines, offset, encoding);
    return Json{{"line", position.line}, {"character", position.character}};
  };
  return {{"start", json(span.start)}, {"end", json(span.end)}};
}

}  // namespace torchport::server
