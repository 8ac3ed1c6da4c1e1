// Float16 and bfloat16 numbers as their bits, converted so that a loop over many is vectorised on
// any CPU: without branches, and without instructions for the types. Subnormal numbers take no
// longer than others, which gradients in float16 often are.
#pragma once

#include <bit>
#include <cstdint>

namespace torchport::device {

namespace half_bits {

// One of two by a condition, as a mask.
[[gnu::always_inline]] inline std::uint32_t chosen(bool first, std::uint32_t a, std::uint32_t b) {
  const auto mask = static_cast<std::uint32_t>(-static_cast<std::int32_t>(first));
  return (a & mask) | (b & ~mask);
}

constexpr std::uint32_t kSign = 0x80000000U;
constexpr std::uint32_t kInfinity = 0x7f800000U;

}  // namespace half_bits

// Each of both types: float_of(bits), bits_of(float) and rounded(float), which is the float of the
// nearest number of the type, an even one of two, and an infinity beyond the largest.

struct Float16Bits {
  [[gnu::always_inline]] static float float_of(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000U) << 16U;
    const std::uint32_t size = bits & 0x7fffU;
    constexpr std::uint32_t kMoreExponent = 112U << 23U;
    constexpr std::uint32_t kHalf = 0x3f000000U;  // of 0.5, whose last place is 2^-24
    const std::uint32_t normal = (size << 13U) + kMoreExponent;
    const std::uint32_t small =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(kHalf | size) - 0.5F);
    const std::uint32_t found = half_bits::chosen(
        size < 0x400U, small, normal + half_bits::chosen(size >= 0x7c00U, kMoreExponent, 0));
    return std::bit_cast<float>(sign | found);
  }

  [[gnu::always_inline]] static float rounded(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>((bits & half_bits::kSign) | rounded_size(bits));
  }

  [[gnu::always_inline]] static std::uint16_t bits_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t size = rounded_size(bits);
    constexpr std::uint32_t kMoreExponent = 112U << 23U;
    const std::uint32_t normal = (size - kMoreExponent) >> 13U;
    const std::uint32_t small =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) & 0x7fffU;
    std::uint32_t found = half_bits::chosen(size < kSmallestNormal, small, normal);
    found = half_bits::chosen(size >= half_bits::kInfinity, 0x7c00U, found);
    found = half_bits::chosen(size > half_bits::kInfinity, 0x7e00U, found);
    return static_cast<std::uint16_t>((bits >> 16U & 0x8000U) | found);
  }

 private:
  static constexpr std::uint32_t kSmallestNormal = 0x38800000U;  // 2^-14

  [[gnu::always_inline]] static std::uint32_t rounded_size(std::uint32_t bits) {
    constexpr std::uint32_t kBeyond = 0x47800000U;  // 65536
    const std::uint32_t size = bits & ~half_bits::kSign;
    const std::uint32_t normal = (size + 0xfffU + (size >> 13U & 1U)) & ~0x1fffU;
    // The last place of a number from 0.5 is that of subnormal numbers in float16.
    const std::uint32_t small =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F - 0.5F);
    std::uint32_t found = half_bits::chosen(size < kSmallestNormal, small, normal);
    found = half_bits::chosen(found >= kBeyond, half_bits::kInfinity, found);
    return half_bits::chosen(size > half_bits::kInfinity, size, found);
  }
};

struct BFloat16Bits {
  [[gnu::always_inline]] static float float_of(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }

  [[gnu::always_inline]] static float rounded(float value) { return float_of(bits_of(value)); }

  [[gnu::always_inline]] static std::uint16_t bits_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t size = bits & ~half_bits::kSign;
    const std::uint32_t nearest = (bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U;
    return static_cast<std::uint16_t>(
        half_bits::chosen(size > half_bits::kInfinity, 0x7fc0U, nearest));
  }
};

}  // namespace torchport::device
