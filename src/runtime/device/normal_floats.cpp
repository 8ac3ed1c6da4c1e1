#include "runtime/device/normal_floats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace torchport::device {

namespace {

constexpr std::size_t kChunk = 64;  // numbers, whose logarithms and waves fit in the nearest cache

// The natural logarithm of a float in (0, 1], with an error below 1e-11 of it: that of the power of
// two, and the series of the area hyperbolic tangent for the rest, from sqrt(1/2) to sqrt(2).
[[gnu::always_inline]] inline double log_of(float x) {
  constexpr std::int32_t kSqrtHalf = 0x3f3504f3;
  constexpr int kMantissa = 23;
  constexpr double kLn2 = 0.69314718055994530942;
  const auto bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t power = (bits - kSqrtHalf) >> kMantissa;
  const double rest = std::bit_cast<float>(bits - power * (1 << kMantissa));
  const double t = (rest - 1.0) / (rest + 1.0);
  const double s = t * t;
  double sum = 1.0 / 17;
  sum = sum * s + 1.0 / 15;
  sum = sum * s + 1.0 / 13;
  sum = sum * s + 1.0 / 11;
  sum = sum * s + 1.0 / 9;
  sum = sum * s + 1.0 / 7;
  sum = sum * s + 1.0 / 5;
  sum = sum * s + 1.0 / 3;
  sum = sum * s + 1.0;
  return static_cast<double>(power) * kLn2 + 2.0 * t * sum;
}

// An angle from 0 to 2 pi in turns: a product that is rounded toward zero.
[[gnu::always_inline]] inline float turns_of(float angle) {
  constexpr float kOneByTwoPi = 0.15915494F;
  const double exact = static_cast<double>(angle) * static_cast<double>(kOneByTwoPi);
  const auto nearest = static_cast<float>(exact);
  // The difference is exact, and its sign bit says whether `nearest` is above.
  const auto difference = static_cast<float>(exact - static_cast<double>(nearest));
  const auto above = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(difference) >> 31U);
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(nearest) - above);
}

// The sine of `turns` turns and `quarter` quarters of one, for 0 to 1 turns, with an error below
// 1e-13: Taylor's series around the nearest quarter.
[[gnu::always_inline]] inline double wave_of(float turns, std::int32_t quarter) {
  constexpr double kHalfPi = 1.57079632679489661923;
  const double quarters = static_cast<double>(turns) * 4.0;
  // No call of lround, so that a loop over many is vectorised; `quarters` is not negative.
  constexpr double kHalf = 0.5;
  const double shifted = quarters + kHalf;
  const auto nearest = static_cast<std::int32_t>(shifted);
  const double r = (quarters - static_cast<double>(nearest)) * kHalfPi;
  const double s = r * r;
  double odd = 1.0 / 6227020800;
  odd = odd * s - 1.0 / 39916800;
  odd = odd * s + 1.0 / 362880;
  odd = odd * s - 1.0 / 5040;
  odd = odd * s + 1.0 / 120;
  odd = odd * s - 1.0 / 6;
  odd = (odd * s + 1.0) * r;
  double even = -1.0 / 87178291200;
  even = even * s + 1.0 / 479001600;
  even = even * s - 1.0 / 3628800;
  even = even * s + 1.0 / 40320;
  even = even * s - 1.0 / 720;
  even = even * s + 1.0 / 24;
  even = even * s - 0.5;
  even = even * s + 1.0;
  const std::int32_t turned = nearest + quarter;
  // Without branches, so that several are computed at a time.
  const auto is_even = static_cast<double>(turned & 1);
  const auto sign = static_cast<double>(1 - (turned & 2));
  return sign * (odd + is_even * (even - odd));
}

void times_roots(const std::array<float, kChunk>& squares, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] *= std::sqrt(squares[i]);
}

#if defined(__x86_64__)
// std::sqrt may set errno, which keeps a compiler from computing several at a time.
[[gnu::target("avx2")]] void times_roots_avx2(const std::array<float, kChunk>& squares,
                                              std::size_t count, float* out) {
  constexpr std::size_t kAtOnce = 8;
  std::size_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce)
    _mm256_storeu_ps(out + i, _mm256_mul_ps(_mm256_loadu_ps(out + i),
                                            _mm256_sqrt_ps(_mm256_loadu_ps(&squares[i]))));
  for (; i < count; ++i) out[i] *= std::sqrt(squares[i]);
}
#endif

// `times` multiplies the waves by the square roots.
template <class Times>
[[gnu::always_inline]] inline void fill(const std::uint32_t* radii, const std::uint32_t* angles,
                                        bool cosine, std::size_t count, float* out,
                                        const Times& times) {
  constexpr float kTwoToMinus32 = 0x1p-32F;
  constexpr float kTwoPi = 6.2831855F;
  constexpr float kStep = kTwoToMinus32 * kTwoPi;
  const std::int32_t quarter = cosine ? 1 : 0;
  std::array<float, kChunk> squares;
  for (std::size_t first = 0; first < count; first += kChunk) {
    const std::size_t present = std::min(kChunk, count - first);
    for (std::size_t i = 0; i < present; ++i) {
      const float radius = static_cast<float>(radii[first + i]) * kTwoToMinus32 + kTwoToMinus32 / 2;
      squares[i] = -2.0F * static_cast<float>(log_of(radius));
      // In double these products and the sum are exact, so that each is rounded once: the angle as
      // the GPU's multiply-add does it, the turns toward zero.
      const auto angle = static_cast<float>(
          static_cast<double>(static_cast<float>(angles[first + i])) * static_cast<double>(kStep) +
          static_cast<double>(kStep / 2));
      out[first + i] = static_cast<float>(wave_of(turns_of(angle), quarter));
    }
    times(squares, present, out + first);
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void fill_avx2(const std::uint32_t* radii, const std::uint32_t* angles,
                                           bool cosine, std::size_t count, float* out) {
  fill(radii, angles, cosine, count, out, times_roots_avx2);
}
#endif

}  // namespace

void normal_floats(const std::uint32_t* radii, const std::uint32_t* angles, bool cosine,
                   std::size_t count, float* out) {
#if defined(__x86_64__)
  static const bool kHasAvx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (kHasAvx2) {
    fill_avx2(radii, angles, cosine, count, out);
    return;
  }
#endif
  fill(radii, angles, cosine, count, out, times_roots);
}

}  // namespace torchport::device
