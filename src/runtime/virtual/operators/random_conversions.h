// Turns Philox's words into uniform and normal numbers as cuRAND's device functions do
// (curand_uniform4, curand_uniform2_double, curand_normal4, curand_normal2_double: cuRAND's API
// reference, and the ranges that it states).
//
// Each struct converts one of the draws of a block, for a batch of subsequences. kPerBlock is how
// many draws a block of four words gives. Stateless.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/device/normal_floats.h"
#include "runtime/device/philox.h"

namespace torchport::vdev {

using device::PhiloxBatch;

// a * b + c, rounded once: what CUDA's compiler makes of `a * b + c` in a kernel. In double the
// product is exact, and the sum is rounded to odd, so that rounding to float is the only rounding
// that shows (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). Without
// branches, so that a loop of it is computed several at a time, on a CPU without FMA, too.
[[nodiscard]] inline float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double sum = product + static_cast<double>(c);
  const double back = sum - product;
  const double error = (product - (sum - back)) + (static_cast<double>(c) - back);
  auto bits = std::bit_cast<std::int64_t>(sum);
  const std::int64_t is_even_and_inexact = static_cast<std::int64_t>(error != 0.0) & ~bits;
  const auto toward_zero = static_cast<std::int64_t>((error > 0.0) != (sum > 0.0));
  bits += is_even_and_inexact * (1 - 2 * toward_zero);
  return static_cast<float>(std::bit_cast<double>(bits));
}
[[nodiscard]] inline double fused(double a, double b, double c) {
  return std::fma(a, b, c);
}

inline constexpr float kTwoToMinus32 = 0x1p-32F;
inline constexpr double kTwoToMinus53 = 0x1p-53;
inline constexpr unsigned kHighWordShift = 21;  // 53 - 32

// In (0, 1]. Both steps are exact but for the conversion of the word.
[[nodiscard]] inline float uniform_float(std::uint32_t word) {
  return static_cast<float>(word) * kTwoToMinus32 + kTwoToMinus32 / 2;
}
// In (0, 1], of 53 bits.
[[nodiscard]] inline double uniform_double(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = low ^ (std::uint64_t{high} << kHighWordShift);
  return static_cast<double>(bits) * kTwoToMinus53 + kTwoToMinus53 / 2;
}

struct DrawWords {
  using Value = std::uint32_t;
  static constexpr std::uint32_t kPerBlock = 4;
  static void convert(const PhiloxBatch& batch, std::uint32_t draw, std::size_t count, Value* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = batch.words[draw][i];
  }
};

struct DrawLongWords {
  using Value = std::uint64_t;
  static constexpr std::uint32_t kPerBlock = 2;
  static void convert(const PhiloxBatch& batch, std::uint32_t draw, std::size_t count, Value* out) {
    const auto& high = batch.words[std::size_t{2} * draw];
    const auto& low = batch.words[std::size_t{2} * draw + 1];
    for (std::size_t i = 0; i < count; ++i) out[i] = (std::uint64_t{high[i]} << 32U) | low[i];
  }
};

template <class Real>
struct DrawUniform;

template <>
struct DrawUniform<float> {
  using Value = float;
  static constexpr std::uint32_t kPerBlock = 4;
  static void convert(const PhiloxBatch& batch, std::uint32_t draw, std::size_t count, Value* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = uniform_float(batch.words[draw][i]);
  }
};

template <>
struct DrawUniform<double> {
  using Value = double;
  static constexpr std::uint32_t kPerBlock = 2;
  static void convert(const PhiloxBatch& batch, std::uint32_t draw, std::size_t count, Value* out) {
    const auto& low = batch.words[std::size_t{2} * draw];
    const auto& high = batch.words[std::size_t{2} * draw + 1];
    for (std::size_t i = 0; i < count; ++i) out[i] = uniform_double(low[i], high[i]);
  }
};

// Box and Muller's method: of each pair of numbers the first gives the radius, the second the
// angle; the results are the sine and the cosine. The last bits of floats are not a GPU's: see
// runtime/device/normal_floats.h.
template <class Real>
struct DrawNormal;

template <>
struct DrawNormal<float> {
  using Value = float;
  static constexpr std::uint32_t kPerBlock = 4;
  static void convert(const PhiloxBatch& batch, std::uint32_t draw, std::size_t count, Value* out) {
    const auto& radii = batch.words[std::size_t{draw} & ~std::size_t{1}];
    const auto& angles = batch.words[std::size_t{draw} | std::size_t{1}];
    device::normal_floats(radii.data(), angles.data(), draw % 2 == 1, count, out);
  }
};

template <>
struct DrawNormal<double> {
  using Value = double;
  static constexpr std::uint32_t kPerBlock = 2;
  static void convert(const PhiloxBatch& batch, std::uint32_t draw, std::size_t count, Value* out) {
    constexpr double kPi = 3.14159265358979323846;
    for (std::size_t i = 0; i < count; ++i) {
      const double u = uniform_double(batch.words[0][i], batch.words[1][i]);
      const std::uint64_t bits =
          batch.words[2][i] ^ (std::uint64_t{batch.words[3][i]} << kHighWordShift);
      // In half turns, (0, 2]; less a whole turn, so that the product with pi stays exact enough.
      double v = static_cast<double>(bits) * (kTwoToMinus53 * 2) + kTwoToMinus53;
      v -= v > 1.0 ? 2.0 : 0.0;
      const double wave = draw == 1 ? std::cos(v * kPi) : std::sin(v * kPi);
      out[i] = wave * std::sqrt(-2.0 * std::log(u));
    }
  }
};

}  // namespace torchport::vdev
