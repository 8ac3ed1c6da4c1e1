// Conversions between numbers. To integers they saturate; a NaN gives 0, and the lowest number for
// those that a GPU converts in 64 bits (as an H100 answered).
#pragma once

#include "integers.h"
#include "rounding.h"

namespace torchport {

template <Round kMode, class F>
__forceinline__ F whole(F x) {
  if constexpr (kMode == Round::kNearest) return std::nearbyint(x);
  if constexpr (kMode == Round::kZero) return std::trunc(x);
  if constexpr (kMode == Round::kUp) return std::ceil(x);
  return std::floor(x);
}

// The integer nearest to x in the direction; `of_nan` for a NaN.
template <class Int, Round kMode, class F>
__forceinline__ Int to_integer(F x, Int of_nan) {
  constexpr bool kSigned = static_cast<Int>(-1) < 0;
  constexpr int kBits = 8 * static_cast<int>(sizeof(Int));
  constexpr Int kLow = kSigned ? static_cast<Int>(static_cast<Int>(1) << (kBits - 1)) : 0;
  constexpr Int kHigh = static_cast<Int>(~kLow);
  // The first number beyond, exact in F.
  const F kEnd = static_cast<F>(1ull << (kBits - 2)) * (kSigned ? 2 : 4);
  F w = whole<kMode>(x);
  if (!(w == w)) return of_nan;
  if (w >= kEnd) return kHigh;
  if (w < (kSigned ? -kEnd : F(0))) return kLow;
  return static_cast<Int>(w);
}

// An integer as F, in the direction.
template <Round kMode, class Int>
__forceinline__ float integer_to_float(Int x) {
  float f = static_cast<float>(x);
  if (kMode == Round::kNearest) return f;
  bool up = kMode == Round::kUp || (kMode == Round::kZero && x < 0);
  // Both are whole: compared exactly in 128 bits.
  torchport_int128 exact = x, rounded = static_cast<torchport_int128>(f);
  if (up && rounded < exact) return nextafterf(f, INFINITY);
  if (!up && rounded > exact) return nextafterf(f, -INFINITY);
  return f;
}
template <Round kMode, class Int>
__forceinline__ double integer_to_double(Int x) {
  double f = static_cast<double>(x);
  if (kMode == Round::kNearest) return f;
  bool up = kMode == Round::kUp || (kMode == Round::kZero && x < 0);
  torchport_int128 exact = x, rounded = static_cast<torchport_int128>(f);
  if (up && rounded < exact) return nextafter(f, INFINITY);
  if (!up && rounded > exact) return nextafter(f, -INFINITY);
  return f;
}

}  // namespace torchport

#define TORCHPORT_CONVERSIONS(R, MODE)                                                             \
  __forceinline__ int __float2int_##R(float x) {                                                   \
    return torchport::to_integer<int, torchport::Round::MODE>(x, 0);                               \
  }                                                                                                \
  __forceinline__ unsigned int __float2uint_##R(float x) {                                         \
    return torchport::to_integer<unsigned int, torchport::Round::MODE>(x, 0u);                     \
  }                                                                                                \
  __forceinline__ long long __float2ll_##R(float x) {                                              \
    return torchport::to_integer<long long, torchport::Round::MODE>(x, -0x7fffffffffffffffll - 1); \
  }                                                                                                \
  __forceinline__ unsigned long long __float2ull_##R(float x) {                                    \
    return torchport::to_integer<unsigned long long, torchport::Round::MODE>(                      \
        x, 0x8000000000000000ull);                                                                 \
  }                                                                                                \
  __forceinline__ int __double2int_##R(double x) {                                                 \
    return torchport::to_integer<int, torchport::Round::MODE>(x, -0x7fffffff - 1);                 \
  }                                                                                                \
  __forceinline__ unsigned int __double2uint_##R(double x) {                                       \
    return torchport::to_integer<unsigned int, torchport::Round::MODE>(x, 0x80000000u);            \
  }                                                                                                \
  __forceinline__ long long __double2ll_##R(double x) {                                            \
    return torchport::to_integer<long long, torchport::Round::MODE>(x, -0x7fffffffffffffffll - 1); \
  }                                                                                                \
  __forceinline__ unsigned long long __double2ull_##R(double x) {                                  \
    return torchport::to_integer<unsigned long long, torchport::Round::MODE>(                      \
        x, 0x8000000000000000ull);                                                                 \
  }                                                                                                \
  __forceinline__ float __int2float_##R(int x) {                                                   \
    return torchport::integer_to_float<torchport::Round::MODE>(x);                                 \
  }                                                                                                \
  __forceinline__ float __uint2float_##R(unsigned int x) {                                         \
    return torchport::integer_to_float<torchport::Round::MODE>(x);                                 \
  }                                                                                                \
  __forceinline__ float __ll2float_##R(long long x) {                                              \
    return torchport::integer_to_float<torchport::Round::MODE>(x);                                 \
  }                                                                                                \
  __forceinline__ float __ull2float_##R(unsigned long long x) {                                    \
    return torchport::integer_to_float<torchport::Round::MODE>(x);                                 \
  }                                                                                                \
  __forceinline__ double __ll2double_##R(long long x) {                                            \
    return torchport::integer_to_double<torchport::Round::MODE>(x);                                \
  }                                                                                                \
  __forceinline__ double __ull2double_##R(unsigned long long x) {                                  \
    return torchport::integer_to_double<torchport::Round::MODE>(x);                                \
  }
TORCHPORT_CONVERSIONS(rn, kNearest)
TORCHPORT_CONVERSIONS(rz, kZero)
TORCHPORT_CONVERSIONS(ru, kUp)
TORCHPORT_CONVERSIONS(rd, kDown)
#undef TORCHPORT_CONVERSIONS
__forceinline__ double __int2double_rn(int x) {
  return x;
}
__forceinline__ double __uint2double_rn(unsigned int x) {
  return x;
}
