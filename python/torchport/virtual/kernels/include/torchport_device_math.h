// The functions of CUDA C++ for numbers that C++ does not have, for code that is compiled for the
// host. Each is within a few units in the last place of its type, as CUDA's are; what CUDA takes from
// tables of the hardware (__expf, __sinf) is as precise as the plain function here.
//
// glibc has some of these names, and newer releases more of them: those are left to it.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

namespace torchport_device {

template <class T, class U>
using Wider = std::common_type_t<T, U>;
template <class To, class From>
inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "the types differ in size");
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

constexpr double kPi = 3.14159265358979323846;
constexpr double kSqrt2 = 1.41421356237309504880;
constexpr double kSqrtPi = 1.77245385090551602730;

// sin(pi x) and cos(pi x), exact at multiples of a half.
inline double sin_pi(double x) {
  const double r = remainder(x, 2.0);  // in [-1, 1]
  const double a = fabs(r);
  const double s = a <= 0.25   ? sin(kPi * a)
                   : a <= 0.75 ? cos(kPi * (0.5 - a))
                               : sin(kPi * (1.0 - a));
  return copysign(s, r);
}
inline double cos_pi(double x) {
  const double a = fabs(remainder(x, 2.0));
  return a <= 0.25 ? cos(kPi * a) : a <= 0.75 ? sin(kPi * (0.5 - a)) : -cos(kPi * (1.0 - a));
}

// exp(x^2) erfc(x). Far from zero by its continued fraction (Abramowitz and Stegun 7.1.14), evaluated
// from its end.
inline double erfc_scaled(double x) {
  if (!(x > 5.0)) return static_cast<double>(expl(static_cast<long double>(x) * x) * erfcl(x));
  double fraction = x;
  for (int k = 60; k >= 1; --k) fraction = x + k / 2.0 / fraction;
  return 1.0 / (fraction * kSqrtPi);
}

// The inverse of erf: a start by Winitzki's formula, then steps of Halley's method. Near one, where erf
// says nothing, by erfc; `y` is x, and `rest` is 1 - |x|.
inline double erf_inverse(double y, double rest) {
  const double a = fabs(y);
  if (!(rest >= 0.0) || a > 1.0) return NAN;
  if (rest == 0.0) return copysign(static_cast<double>(INFINITY), y);
  const double log_term = log(rest) + log1p(a);  // log(1 - y^2)
  const double b = 2.0 / (kPi * 0.147) + log_term / 2.0;
  double z = sqrt(sqrt(b * b - log_term / 0.147) - b);
  for (int step = 0; step < 3; ++step) {
    const double error = a < 0.5 ? erf(z) - a : rest - erfc(z);
    const double slope = 2.0 / kSqrtPi * exp(-z * z);
    if (slope == 0.0) break;
    const double move = error / slope;
    z -= move / (1.0 + z * move);
  }
  return copysign(z, y);
}

// Modified Bessel functions of the first kind, by their series, and from 30 on by their asymptotic
// one (Abramowitz and Stegun 9.6.10, 9.7.1).
inline double bessel_i(int order, double x) {
  const double a = fabs(x);
  double sum;
  if (a < 30.0) {
    double term = order == 0 ? 1.0 : a / 2.0;
    sum = term;
    for (int k = 1; k < 200 && term > sum * 1e-18; ++k) {
      term *= (a / 2.0) * (a / 2.0) / (static_cast<double>(k) * (k + order));
      sum += term;
    }
  } else {
    double term = 1.0;
    sum = 1.0;
    for (int k = 1; k < 40; ++k) {
      const double odd = 2.0 * k - 1.0;
      term *= -(4.0 * order * order - odd * odd) / (k * 8.0 * a);
      sum += term;
      if (fabs(term) < 1e-17) break;
    }
    sum *= exp(a / 2.0) / sqrt(2.0 * kPi * a) * exp(a / 2.0);
  }
  return order % 2 != 0 && x < 0 ? -sum : sum;
}

}  // namespace torchport_device

// NAME(x) in float; NAME(x) in double, and NAMEf(x), which a C library may have.
#define TORCHPORT_FLOAT(name, expression)                                                    \
  inline float name(float argument) {                                                        \
    const double x = argument;                                                               \
    return static_cast<float>(expression);                                                   \
  }
#define TORCHPORT_DOUBLE(name, expression)                                                   \
  inline double name(double x) { return expression; }                                        \
  inline float name##f(float x) { return name(x); }
#define TORCHPORT_BOTH(name, expression)                                                     \
  TORCHPORT_FLOAT(name, expression) TORCHPORT_DOUBLE(name, expression)
#define TORCHPORT_IF_LIBRARY_HAS(major, minor) 0
#ifdef __GLIBC_PREREQ
#undef TORCHPORT_IF_LIBRARY_HAS
#define TORCHPORT_IF_LIBRARY_HAS(major, minor) __GLIBC_PREREQ(major, minor)
#endif
TORCHPORT_FLOAT(rsqrt, 1.0 / sqrt(x))
TORCHPORT_FLOAT(sinpi, torchport_device::sin_pi(x))
TORCHPORT_FLOAT(cospi, torchport_device::cos_pi(x))
#if !TORCHPORT_IF_LIBRARY_HAS(2, 42)
TORCHPORT_DOUBLE(rsqrt, 1.0 / sqrt(x))
#endif
#if !TORCHPORT_IF_LIBRARY_HAS(2, 41)
TORCHPORT_DOUBLE(sinpi, torchport_device::sin_pi(x))
TORCHPORT_DOUBLE(cospi, torchport_device::cos_pi(x))
#endif
TORCHPORT_BOTH(rcbrt, 1.0 / cbrt(x))
TORCHPORT_BOTH(erfcx, torchport_device::erfc_scaled(x))
TORCHPORT_BOTH(erfinv, torchport_device::erf_inverse(x, 1.0 - fabs(x)))
TORCHPORT_BOTH(erfcinv, torchport_device::erf_inverse(1.0 - x, x < 1.0 ? x : 2.0 - x))
TORCHPORT_BOTH(normcdf, erfc(-x / torchport_device::kSqrt2) / 2.0)
TORCHPORT_BOTH(normcdfinv, torchport_device::kSqrt2 * torchport_device::erf_inverse(
                                                          2.0 * x - 1.0, 2.0 * (x < 0.5 ? x : 1.0 - x)))
TORCHPORT_BOTH(cyl_bessel_i0, torchport_device::bessel_i(0, x))
TORCHPORT_BOTH(cyl_bessel_i1, torchport_device::bessel_i(1, x))
#undef TORCHPORT_FLOAT
#undef TORCHPORT_DOUBLE
#undef TORCHPORT_BOTH
#undef TORCHPORT_IF_LIBRARY_HAS

// C libraries have exp10 and sincos for double, and for float under names with f.
inline float exp10(float x) { return exp10f(x); }
inline void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
template <class T>
inline void sincospi(T x, T* sine, T* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
inline void sincospif(float x, float* sine, float* cosine) { sincospi(x, sine, cosine); }
template <class T>
inline T rhypot(T x, T y) {
  return 1 / hypot(x, y);
}
template <class T>
inline T norm3d(T x, T y, T z) {
  return hypot(hypot(x, y), z);
}
template <class T>
inline T rnorm3d(T x, T y, T z) {
  return 1 / norm3d(x, y, z);
}
template <class T>
inline T norm4d(T x, T y, T z, T w) {
  return hypot(hypot(x, y), hypot(z, w));
}
template <class T>
inline T rnorm4d(T x, T y, T z, T w) {
  return 1 / norm4d(x, y, z, w);
}

// min and max as in CUDA: of any two numbers, in the wider type; a number goes before NaN.
template <class T, class U>
constexpr torchport_device::Wider<T, U> min(T a, U b) {
  using Both = torchport_device::Wider<T, U>;
  const Both x = static_cast<Both>(a), y = static_cast<Both>(b);
  return y < x || x != x ? y : x;
}
template <class T, class U>
constexpr torchport_device::Wider<T, U> max(T a, U b) {
  using Both = torchport_device::Wider<T, U>;
  const Both x = static_cast<Both>(a), y = static_cast<Both>(b);
  return x < y || x != x ? y : x;
}

// The functions that CUDA computes in hardware, and those that name their rounding.
inline float fdividef(float x, float y) { return x / y; }
inline float __fdividef(float x, float y) { return x / y; }
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline float __saturatef(float x) { return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __frcp_rn(float x) { return 1.0F / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return sqrt(x); }

// Bits and integers.
inline int __float_as_int(float x) { return torchport_device::same_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return torchport_device::same_bits<unsigned>(x); }
inline float __int_as_float(int x) { return torchport_device::same_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return torchport_device::same_bits<float>(x); }
inline long long __double_as_longlong(double x) {
  return torchport_device::same_bits<long long>(x);
}
inline double __longlong_as_double(long long x) { return torchport_device::same_bits<double>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(lrintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
inline int __float2int_ru(float x) { return static_cast<int>(ceilf(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline int __double2int_rn(double x) { return static_cast<int>(lrint(x)); }
inline int __double2int_rz(double x) { return static_cast<int>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= ((x >> i) & 1U) << (31 - i);
  return reversed;
}
inline unsigned long long __brevll(unsigned long long x) {
  return (static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32) |
         __brev(static_cast<unsigned>(x >> 32));
}
inline int __mul24(int x, int y) { return x * y; }
inline int __mulhi(int x, int y) { return static_cast<int>((static_cast<long long>(x) * y) >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
inline long long __mul64hi(long long x, long long y) {
  return static_cast<long long>((static_cast<__int128>(x) * y) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(x) * y) >> 64);
}
