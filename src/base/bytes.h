// Formats sizes in bytes for people, and reads the sizes that people write. It is the only place in
// C++ that does, so that the same size reads the same in each report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace torchport::base {

// "512 bytes", "1.5 KiB", "79.3 GiB": the number in the largest unit (up to TiB) of which there is
// at least one. Thread safe.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes, int decimals = 1);

// Formats as c10's format_size() does in the messages of allocators, which programs compare: two
// decimals, a unit only for more than one of it ("1024.00 KiB"), at most GiB. Thread safe.
[[nodiscard]] std::string format_bytes_as_c10(std::uint64_t bytes);

// Reads a size in bytes: a number and a unit in small or capital letters. "KiB", "MiB", "GiB" and
// "TiB" are binary, and so are the letters alone ("8g"); "KB", "MB", "GB" and "TB" are decimal; "B"
// or nothing is bytes. Fails with kUsage for anything else, for less than a byte and for more than
// 1024 TiB. Thread safe.
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);

}  // namespace torchport::base
