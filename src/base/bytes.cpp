#include "base/bytes.h"

#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace torchport::base {

namespace {

constexpr std::array<std::string_view, 5> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};

std::string in_unit(std::uint64_t bytes, std::size_t unit, int decimals) {
  if (unit == 0) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
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

Result<std::uint64_t> parse_size(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  static constexpr std::array<Unit, 14> kNames{{{"", 1},
                                                {"b", 1},
                                                {"k", 0x1p10},
                                                {"kib", 0x1p10},
                                                {"kb", 1e3},
                                                {"m", 0x1p20},
                                                {"mib", 0x1p20},
                                                {"mb", 1e6},
                                                {"g", 0x1p30},
                                                {"gib", 0x1p30},
                                                {"gb", 1e9},
                                                {"t", 0x1p40},
                                                {"tib", 0x1p40},
                                                {"tb", 1e12}}};
  constexpr double kMost = 0x1p50;
  const std::string_view size = trim(text);
  double number = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), number);
  const std::string unit = lower(trim(size.substr(static_cast<std::size_t>(end - size.data()))));
  for (const Unit& known : kNames) {
    if (error != std::errc() || unit != known.name) continue;
    const double bytes = number * known.bytes;
    if (!(bytes >= 1) || bytes > kMost) break;
    return static_cast<std::uint64_t>(bytes);
  }
  return fail(ErrorCode::kUsage,
              fmt::format("`{}` is not a size; write it like 16GiB or 512MiB", text));
}

}  // namespace torchport::base
