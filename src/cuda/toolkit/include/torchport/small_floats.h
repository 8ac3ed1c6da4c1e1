// Rounding to floats of 16 bits and fewer, once and in a stated direction, and what they are worth.
#pragma once

#include "conversions.h"

namespace torchport {

// The bits of |x| in a format of kExponent and kMantissa bits whose exponent has no end; x is
// finite. `rest` is what x lacks of the exact value: only its sign counts.
template <int kExponent, int kMantissa>
inline long long endless_magnitude_of(double x, Round mode, double rest = 0) {
  unsigned long long b = bits<unsigned long long>(x);
  bool negative = b >> 63;
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  int e = static_cast<int>(b >> 52 & 0x7ff) - 1023;
  unsigned long long sig = b & 0xfffffffffffffull;
  if (e > -1023)
    sig |= 1ull << 52;
  else
    e = -1022;
  // Two bits more, so that the rest is below the last one.
  sig <<= 2;
  if (rest != 0) sig = (rest < 0) != negative ? sig - 1 : sig + 1;
  if (sig == 0) return 0;
  int shift = 54 - kMantissa + (e < 1 - kBias ? 1 - kBias - e : 0);
  if (shift > 62) shift = 62;
  unsigned long long kept = sig >> shift, cut = sig & ((1ull << shift) - 1),
                     tie = 1ull << (shift - 1);
  bool away = mode == Round::kNearest ? cut > tie || (cut == tie && (kept & 1))
              : mode == Round::kZero  ? false
                                      : cut && (mode == Round::kUp) != negative;
  long long result = static_cast<long long>(kept) + away;
  if (e >= 1 - kBias) result += static_cast<long long>(e + kBias - 1) << kMantissa;
  return result;
}

// The same in a format with an infinity above its largest number.
template <int kExponent, int kMantissa>
inline unsigned magnitude_of(double x, Round mode, double rest = 0) {
  constexpr unsigned kInfinity = ((1u << kExponent) - 1) << kMantissa;
  if (std::isinf(x)) return kInfinity;
  bool negative = signbit(x);
  long long result = endless_magnitude_of<kExponent, kMantissa>(x, mode, rest);
  if (result < kInfinity) return static_cast<unsigned>(result);
  bool to_infinity =
      mode == Round::kNearest || (mode != Round::kZero && (mode == Round::kUp) != negative);
  return to_infinity ? kInfinity : kInfinity - 1;
}

// A 64-bit integer as a double that keeps what a later rounding needs: the last bit says "not
// exact".
template <class Int>
inline double odd_double(Int x) {
  bool negative = x < 0;
  unsigned long long m =
      negative ? 0ull - static_cast<unsigned long long>(x) : static_cast<unsigned long long>(x);
  if (m >> 53) m = (m & ~0xfffull) | ((m & 0xfff) ? 0x1000 : 0);
  double d = static_cast<double>(m);
  return negative ? -d : d;
}

#if defined(__F16C__) && !defined(TORCHPORT_NO_F16C)
typedef short v8hi __attribute__((vector_size(16)));
typedef float v4sf __attribute__((vector_size(16)));
#endif

struct HalfBits {
  static constexpr unsigned short kInfinity = 0x7c00, kOne = 0x3c00;
  static constexpr unsigned kMantissa = 10;

  static __forceinline__ float widen(unsigned short h) {
#if defined(__F16C__) && !defined(TORCHPORT_NO_F16C)
    float f = __builtin_ia32_vcvtph2ps(v8hi{static_cast<short>(h)})[0];
    return f == f ? f : float_nan();
#else
    // Without a branch and without a subnormal float, which a kernel may flush.
    const unsigned magnitude = static_cast<unsigned>(h & 0x7fff) << 13;
    const float small = static_cast<float>(static_cast<int>(h & 0x3ff)) * 5.9604645e-8f;
    unsigned b = h & 0x7c00 ? magnitude + 0x38000000u : bits<unsigned>(small);
    b = magnitude >= 0x0f800000u ? 0x7f800000u : b;
    b |= static_cast<unsigned>(h & 0x8000) << 16;
    return bits<float>(magnitude > 0x0f800000u ? 0x7fffffffu : b);
#endif
  }
  static __forceinline__ unsigned short narrow(float f) {
#if defined(__F16C__) && !defined(TORCHPORT_NO_F16C)
    unsigned short h = static_cast<unsigned short>(__builtin_ia32_vcvtps2ph(v4sf{f}, 0)[0]);
    return f == f ? h : 0x7fff;
#else
    unsigned b = bits<unsigned>(f), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
    if (a > 0x7f800000u) return 0x7fff;
    if (a >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00);  // from 65520
    if (a < 0x38800000u) {  // subnormal: a sum whose last bit is half's rounds it
      float r = bits<float>(a) + 0.5f;
      return static_cast<unsigned short>(sign | (bits<unsigned>(r) - 0x3f000000u));
    }
    return static_cast<unsigned short>(sign | ((a + 0xfff + (a >> 13 & 1)) - 0x38000000u) >> 13);
#endif
  }
  static inline unsigned short narrow_to(double x, Round mode, double rest = 0) {
    if (x != x) return 0x7fff;
    return static_cast<unsigned short>(magnitude_of<5, 10>(x, mode, rest) |
                                       (signbit(x) ? 0x8000u : 0u));
  }
  // Sums and products of halves are exact in float or round there by enough bits (24 = 2 x 11 + 2).
  static __forceinline__ unsigned short product(float a, float b) { return narrow(a * b); }
  static __forceinline__ unsigned short multiply_add(float a, float b, float c) {
    float p = a * b, s = p + c;  // p is exact: 22 bits
    float t = s - p, rest = (p - (s - t)) + (c - t);
    // To odd, so that the second rounding is the only one.
    if (rest != 0 && rest - rest == 0 && !(bits<unsigned>(s) & 1))
      s = bits<float>((rest > 0) == (s > 0) ? bits<unsigned>(s) + 1 : bits<unsigned>(s) - 1);
    return narrow(s);
  }
};

struct BrainBits {
  static constexpr unsigned short kInfinity = 0x7f80, kOne = 0x3f80;
  static constexpr unsigned kMantissa = 7;

  static __forceinline__ float widen(unsigned short h) {
    return bits<float>(static_cast<unsigned>(h) << 16);
  }
  static __forceinline__ unsigned short narrow(float f) {
    unsigned b = bits<unsigned>(f);
    unsigned short h = static_cast<unsigned short>((b + 0x7fff + (b >> 16 & 1)) >> 16);
    return f == f ? h : 0x7fff;
  }
  static inline unsigned short narrow_to(double x, Round mode, double rest = 0) {
    if (x != x) return 0x7fff;
    return static_cast<unsigned short>(magnitude_of<8, 7>(x, mode, rest) |
                                       (signbit(x) ? 0x8000u : 0u));
  }
  // A product below float's normal numbers would round twice.
  static __forceinline__ unsigned short product(float a, float b) {
    float p = a * b;
    if (__builtin_expect(__builtin_fabsf(p) < 1.17549435e-38f && p != 0, 0))
      return narrow_to(static_cast<double>(a) * b, Round::kNearest);
    return narrow(p);
  }
  static __forceinline__ unsigned short multiply_add(float a, float b, float c) {
    double p = static_cast<double>(a) * b, s = p + c;  // p is exact
    double t = s - p, rest = (p - (s - t)) + (c - t);
    if (rest != 0 && rest - rest == 0 && !(bits<unsigned long long>(s) & 1))
      s = bits<double>((rest > 0) == (s > 0) ? bits<unsigned long long>(s) + 1
                                             : bits<unsigned long long>(s) - 1);
    float f = static_cast<float>(s);
    // The cut to float must not round, either.
    if (static_cast<double>(f) != s && f - f == 0) return narrow_to(s, Round::kNearest);
    return narrow(f);
  }
};

// A format of at most 8 bits without infinities, whose largest number is kLargest: x, or what is
// nearest to it. A NaN gives kNan, which has no sign.
template <int kExponent, int kMantissa, unsigned kLargest, unsigned kNan>
inline unsigned char narrow_small(double x, Round mode, unsigned beyond = kLargest) {
  if (x != x) return static_cast<unsigned char>(kNan);
  constexpr unsigned kSign = 1u << (kExponent + kMantissa);
  long long m = std::isinf(x) ? 1 << 20 : endless_magnitude_of<kExponent, kMantissa>(x, mode);
  return static_cast<unsigned char>(
      (m > static_cast<long long>(kLargest) ? beyond : static_cast<unsigned>(m)) |
      (signbit(x) ? kSign : 0u));
}

// What the bits are worth, where all are numbers.
template <int kExponent, int kMantissa>
inline float widen_small(unsigned b) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  unsigned e = b >> kMantissa & ((1u << kExponent) - 1), m = b & ((1u << kMantissa) - 1);
  float f =
      e ? bits<float>((e + 127 - kBias) << 23 | m << (23 - kMantissa))
        : static_cast<float>(m) * bits<float>(static_cast<unsigned>(128 - kBias - kMantissa) << 23);
  return b >> (kExponent + kMantissa) & 1 ? -f : f;
}

inline Round round_of(cudaRoundMode mode) {
  return mode == cudaRoundNearest  ? Round::kNearest
         : mode == cudaRoundZero   ? Round::kZero
         : mode == cudaRoundPosInf ? Round::kUp
                                   : Round::kDown;
}

}  // namespace torchport
