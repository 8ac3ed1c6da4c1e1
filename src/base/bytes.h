// Formats sizes in bytes for people. It is the only such formatter in C++, so that the same size
// reads the same in each report.
#pragma once

#include <cstdint>
#include <string>

namespace torchport::base {

// "512 bytes", "1.5 KiB", "79.3 GiB": the number in the largest unit (up to TiB) of which there is
// at least one. Thread safe.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes, int decimals = 1);

// Formats as c10's format_size() does in the messages of allocators, which programs compare: two
// decimals, a unit only for more than one of it ("1024.00 KiB"), at most GiB. Thread safe.
[[nodiscard]] std::string format_bytes_as_c10(std::uint64_t bytes);

}  // namespace torchport::base
