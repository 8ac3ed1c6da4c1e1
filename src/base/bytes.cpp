#include "base/bytes.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace torchport::base {

namespace {

constexpr std::array<std::string_view, 5> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};

std::string in_unit(std::uint64_t bytes, std::size_t unit, int decimals) {
  if (unit == 0) return fmt::format("{} bytes", bytes);
  const auto one = static_cast<double>(std::uint64_t{1} << (10 * unit));
  return fmt::format("{:.{}f} {}", static_cast<double>(bytes) / one, decimals, kUnits.at(unit));
}

}  // namespace

std::string format_bytes(std::uint64_t bytes, int decimals) {
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >> (10 * (unit + 1)) > 0) ++unit;
  return in_unit(bytes, unit, decimals);
}

std::string format_bytes_as_c10(std::uint64_t bytes) {
  constexpr std::size_t kGiB = 3;
  std::size_t unit = 0;
  while (unit < kGiB && bytes > std::uint64_t{1} << (10 * (unit + 1))) ++unit;
  return in_unit(bytes, unit, 2);
}

}  // namespace torchport::base
