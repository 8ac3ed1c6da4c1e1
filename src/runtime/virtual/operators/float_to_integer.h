// How a GPU converts a floating-point number to an integer; see float_to_integer.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace torchport::vdev {

// The integers that the conversion to `To` goes through.
template <class To>
using Converted = std::conditional_t<
    sizeof(To) == sizeof(std::int64_t), To,
    std::conditional_t<std::is_same_v<To, std::uint8_t>, std::int64_t,
                       std::conditional_t<std::is_signed_v<To>, std::int32_t, std::uint32_t>>>;

// Towards zero; what does not fit becomes the nearest integer of Converted<To>, of which `To` keeps
// the lowest bits. Without branches, so that a loop of it is vectorized.
template <class To, class From>
[[nodiscard]] To to_integer(From number) {
  using Wide = Converted<To>;
  using Bits = std::make_unsigned_t<Wide>;
  constexpr int kBits = std::numeric_limits<Bits>::digits;
  constexpr bool kNoZero = std::is_same_v<From, double> || kBits == 64;
  constexpr auto kNotANumber = static_cast<Wide>(kNoZero ? Bits{1} << (kBits - 1) : Bits{0});
  constexpr auto kLowest = static_cast<From>(std::numeric_limits<Wide>::lowest());
  // A power of two: max() itself is no number of `From`.
  constexpr Wide kHalfway = std::numeric_limits<Wide>::max() / 2 + 1;
  constexpr From kBeyond = static_cast<From>(kHalfway) * From{2};
  const bool is_nan = number != number;
  const bool is_high = number >= kBeyond;
  From inside = is_nan || is_high ? From{0} : number;
  inside = inside < kLowest ? kLowest : inside;
  auto whole = static_cast<Wide>(inside);
  whole = is_high ? std::numeric_limits<Wide>::max() : whole;
  whole = is_nan ? kNotANumber : whole;
  return static_cast<To>(whole);
}

}  // namespace torchport::vdev
