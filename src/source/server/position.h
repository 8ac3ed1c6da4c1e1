// Converts between the protocol's positions (zero-based lines and code units) and byte offsets.
// Clients and server agree on the code unit at the start: UTF-16 unless the client offers UTF-8.
// All functions are thread safe.
#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace torchport::server {

using Json = nlohmann::json;

enum class Encoding : std::uint8_t { kUtf8, kUtf16 };

struct Position {
  std::uint32_t line = 0;
  std::uint32_t character = 0;  // code units

  [[nodiscard]] auto operator<=>(const Position&) const = default;
};

// The byte at a position. A line after the last is the end of the text, a character after the end
// of its line is that end, and a position inside of a character is the character's start.
[[nodiscard]] std::uint32_t offset_at(const base::LineIndex& lines, Position position,
                                      Encoding encoding);
// The position of a byte; `offset` is clamped to the text.
[[nodiscard]] Position position_at(const base::LineIndex& lines, std::uint32_t offset,
                                   Encoding encoding);

// Reads a position. Numbers that are too large are cut, negative ones count as 0. Throws
// nlohmann::json::exception if it is none.
[[nodiscard]] Position read_position(const Json& json);
[[nodiscard]] Json range_json(const base::LineIndex& lines, base::Span span, Encoding encoding);

}  // namespace torchport::server
