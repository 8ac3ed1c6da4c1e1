// Functions of CUDA that C++ has not: in double from series and Newton's method, in float rounded
// once from double.
#pragma once

#include "bits.h"
#include "fast.h"

namespace torchport {

constexpr double kPi = 3.141592653589793116, kPiRest = 1.2246467991473532e-16;
constexpr double kSqrtPi = 1.7724538509055160273;
constexpr double kSqrtHalf = 0.70710678118654757, kSqrtHalfRest = -4.8336466567264567e-17;

// exp(x^2), with the square's rounding error.
inline double exp_square(double x) {
  double high = unfused(x * x), low = std::fma(x, x, -high);
  return exp(high) * (1.0 + low);
}

// exp(x^2) erfc(x). From 10 on the asymptotic series (Abramowitz and Stegun 7.1.23).
inline double scaled_erfc(double x) {
  if (x != x) return x;
  if (x < 10.0) return x < -26.7 ? INFINITY : exp_square(x) * ::erfc(x);
  if (x > 1e150) return 1.0 / x / kSqrtPi;
  double step = 0.5 / (x * x), term = 1, sum = 0;
  for (int k = 1; k < 20; ++k) {
    sum += term;
    double next = term * -(2 * k - 1) * step;
    if (std::fabs(next) >= std::fabs(term)) break;
    term = next;
  }
  return sum / (x * kSqrtPi);
}

// The inverse of erfc for 0 < x <= 1: Newton on the logarithm, so that the tail converges as well.
inline double tail_of_erfc(double x) {
  double y;
  if (x > 0.25) {
    y = (1.0 - x) * 0.5 * kSqrtPi;
    for (int i = 0; i < 8; ++i) {
      double change = (::erfc(y) - x) * 0.5 * kSqrtPi * exp(y * y);
      y += change / (1.0 + y * change);  // Halley
      if (std::fabs(change) < 1e-17 * y) break;
    }
    return y;
  }
  double wanted = log(x);
  y = std::sqrt(-wanted);
  y = std::sqrt(std::fmax(-wanted - log(kSqrtPi * std::fmax(y, 0.6)), 0.3));
  for (int i = 0; i < 12; ++i) {
    double scaled = scaled_erfc(y), square = y * y;
    double change =
        (log(scaled) - square - wanted - std::fma(y, y, -square)) * 0.5 * kSqrtPi * scaled;
    y += change;
    if (std::fabs(change) < 1e-16 * y) break;
  }
  return y;
}

inline double inverse_erf(double x) {
  double a = std::fabs(x);
  if (!(a < 1.0)) return a == 1.0 ? x * INFINITY : x != x ? x : double_nan();
  if (a < 1e-8) return x * (0.5 * kSqrtPi);
  if (a > 0.5) return std::copysign(tail_of_erfc(1.0 - a), x);
  double y = a * 0.5 * kSqrtPi;
  for (int i = 0; i < 8; ++i) {
    double change = (a - ::erf(y)) * 0.5 * kSqrtPi * exp(y * y);
    y += change / (1.0 - y * change);
    if (std::fabs(change) < 1e-17 * y) break;
  }
  return std::copysign(y, x);
}

inline double inverse_erfc(double x) {
  if (x != x) return x;
  if (x < 0 || x > 2) return double_nan();
  if (x == 0) return INFINITY;
  if (x == 2) return -INFINITY;
  // Near 1 the argument of erf's inverse is exact.
  if (x > 0.5 && x < 1.5) return 1.0 - x == 0 ? 0.0 : inverse_erf(1.0 - x);
  return x <= 0.5 ? tail_of_erfc(x) : -tail_of_erfc(2.0 - x);
}

inline double normal_cdf(double x) {
  if (x != x) return x;
  if (x < -38.6) return 0.0;
  double t = unfused(-x * kSqrtHalf);
  double rest = std::fma(-x, kSqrtHalf, -t) - x * kSqrtHalfRest;
  double at = ::erfc(t);
  if (x - x == 0) at -= 2.0 / kSqrtPi * exp(-t * t) * rest;
  return 0.5 * at;
}

inline double inverse_normal_cdf(double x) {
  if (x != x) return x;
  if (x < 0 || x > 1) return double_nan();
  double y = inverse_erfc(2.0 * x);
  if (y - y != 0) return -y;
  return std::fma(-y, 2.0 * kSqrtHalf, -y * 2.0 * kSqrtHalfRest);
}

// Modified Bessel functions of order 0 and 1: the power series, and for large arguments the
// asymptotic one (Abramowitz and Stegun 9.6.10, 9.7.1).
inline double bessel_i(int order, double x) {
  double a = std::fabs(x);
  if (x != x) return x;
  if (a > 714.0) return order ? std::copysign(INFINITY, x) : INFINITY;
  double sum = 0;
  if (a < 30.0) {
    double quarter = a * a * 0.25, term = 1;
    for (int k = 1; k < 200; ++k) {
      sum += term;
      term *= quarter / (static_cast<double>(k) * (k + order));
      if (term < sum * 1e-18) break;
    }
    return order ? 0.5 * x * sum : sum;
  }
  double term = 1, four = 4.0 * order * order;
  for (int k = 1; k < 60; ++k) {
    sum += term;
    double odd = 2 * k - 1;
    term *= -(four - odd * odd) / (k * 8.0 * a);
    if (std::fabs(term) < 1e-18) break;
  }
  double half = exp(0.5 * a);
  double y = half * (sum / std::sqrt(2 * kPi * a)) * half;
  return order && x < 0 ? -y : y;
}

// sin and cos of pi x: x less a multiple of 1/2 is exact.
struct Turn {
  double sine, cosine;
};
inline Turn turn(double x) {
  double n = std::nearbyint(2.0 * x), t = std::fma(-0.5, n, x);
  double angle = unfused(t * kPi), rest = std::fma(t, kPi, -angle) + t * kPiRest;
  double s = sin(angle), c = cos(angle);
  double ss = std::fma(c, rest, s), cc = std::fma(-s, rest, c);
  double quarter = std::fmod(n, 4.0);
  int q = static_cast<int>(quarter) & 3;
  Turn result = q == 0   ? Turn{ss, cc}
                : q == 1 ? Turn{cc, -ss}
                : q == 2 ? Turn{-ss, -cc}
                         : Turn{-cc, ss};
  if (result.sine == 0) result.sine = std::copysign(0.0, x);
  if (result.cosine == 0) result.cosine = 0.0;
  return result;
}
inline Turn checked_turn(double x) {
  if (x - x != 0) return x != x ? Turn{x, x} : Turn{double_nan(), double_nan()};
  if (std::fabs(x) > 9007199254740992.0) return Turn{std::copysign(0.0, x), 1.0};
  return turn(x);
}

// The root of a sum of squares, scaled by the largest; infinite if any part is.
template <class T>
inline double norm_of(int count, const T* parts) {
  double largest = 0, sum = 0;
  bool missing = false;
  for (int i = 0; i < count; ++i) {
    double a = std::fabs(static_cast<double>(parts[i]));
    if (a > 1.7976931348623157e308) return INFINITY;
    missing = missing || a != a;
    largest = a > largest ? a : largest;
  }
  if (missing) return double_nan();
  if (largest == 0) return 0;
  int exponent = std::ilogb(largest);
  double error = 0;
  for (int i = 0; i < count; ++i) {
    double a = std::scalbn(static_cast<double>(parts[i]), -exponent);
    double square = unfused(a * a), before = sum;
    sum = unfused(sum + square);
    error += std::fma(a, a, -square) + (square - (sum - before));
  }
  double root = std::sqrt(sum);
  root += (std::fma(-root, root, sum) + error) / (2 * root);
  return std::scalbn(root, exponent);
}

}  // namespace torchport

// One Newton step in twice the precision gives the root's reciprocal rounded once but for rare
// ties.
TORCHPORT_C double rsqrt(double x) noexcept {
  double y = 1.0 / __builtin_sqrt(x);
  if (!(x > 1e-290 && x < 1e300)) return y;
  double p = torchport::unfused(x * y), rest = __builtin_fma(x, y, -p);
  double error = __builtin_fma(-p, y, 1.0) - rest * y;
  return __builtin_fma(0.5 * y, error, y);
}
TORCHPORT_C float rsqrtf(float x) noexcept {
  return torchport::approximate_rsqrt(x);
}
TORCHPORT_C double rcbrt(double x) noexcept {
  return 1.0 / cbrt(x);
}
TORCHPORT_C float rcbrtf(float x) noexcept {
  return torchport::plain_nan(static_cast<float>(1.0 / cbrt(static_cast<double>(x))));
}

// NAME of double and NAMEf of float from one expression in double.
#define TORCHPORT_SPECIAL(NAME, ...)                              \
  TORCHPORT_C double NAME(double x) noexcept {                    \
    return __VA_ARGS__;                                           \
  }                                                               \
  TORCHPORT_C float NAME##f(float y) noexcept {                   \
    double x = y;                                                 \
    return torchport::plain_nan(static_cast<float>(__VA_ARGS__)); \
  }                                                               \
  TORCHPORT_CC float NAME(float x) {                              \
    return NAME##f(x);                                            \
  }
TORCHPORT_SPECIAL(sinpi, torchport::checked_turn(x).sine)
TORCHPORT_SPECIAL(cospi, torchport::checked_turn(x).cosine)
TORCHPORT_SPECIAL(erfinv, torchport::inverse_erf(x))
TORCHPORT_SPECIAL(erfcinv, torchport::inverse_erfc(x))
TORCHPORT_SPECIAL(erfcx, torchport::scaled_erfc(x))
TORCHPORT_SPECIAL(normcdf, torchport::normal_cdf(x))
TORCHPORT_SPECIAL(normcdfinv, torchport::inverse_normal_cdf(x))
TORCHPORT_SPECIAL(cyl_bessel_i0, torchport::bessel_i(0, x))
TORCHPORT_SPECIAL(cyl_bessel_i1, torchport::bessel_i(1, x))
#undef TORCHPORT_SPECIAL

TORCHPORT_C void sincospi(double x, double* s, double* c) noexcept {
  torchport::Turn t = torchport::checked_turn(x);
  *s = t.sine;
  *c = t.cosine;
}
TORCHPORT_C void sincospif(float x, float* s, float* c) noexcept {
  torchport::Turn t = torchport::checked_turn(x);
  *s = torchport::plain_nan(static_cast<float>(t.sine));
  *c = torchport::plain_nan(static_cast<float>(t.cosine));
}
TORCHPORT_CC void sincospi(float x, float* s, float* c) {
  sincospif(x, s, c);
}

#define TORCHPORT_NORMS(COUNT, NAME, PARAMETERS, PARAMETERSF, ...)                           \
  TORCHPORT_C double NAME(PARAMETERS) noexcept {                                             \
    const double parts[] = {__VA_ARGS__};                                                    \
    return torchport::norm_of(COUNT, parts);                                                 \
  }                                                                                          \
  TORCHPORT_C double r##NAME(PARAMETERS) noexcept {                                          \
    const double parts[] = {__VA_ARGS__};                                                    \
    return 1.0 / torchport::norm_of(COUNT, parts);                                           \
  }                                                                                          \
  TORCHPORT_C float NAME##f(PARAMETERSF) noexcept {                                          \
    const float parts[] = {__VA_ARGS__};                                                     \
    return torchport::plain_nan(static_cast<float>(torchport::norm_of(COUNT, parts)));       \
  }                                                                                          \
  TORCHPORT_C float r##NAME##f(PARAMETERSF) noexcept {                                       \
    const float parts[] = {__VA_ARGS__};                                                     \
    return torchport::plain_nan(static_cast<float>(1.0 / torchport::norm_of(COUNT, parts))); \
  }
#define TORCHPORT_3(T) T x, T y, T z
#define TORCHPORT_4(T) T x, T y, T z, T w
TORCHPORT_NORMS(3, norm3d, TORCHPORT_3(double), TORCHPORT_3(float), x, y, z)
TORCHPORT_NORMS(4, norm4d, TORCHPORT_4(double), TORCHPORT_4(float), x, y, z, w)
#undef TORCHPORT_NORMS
#undef TORCHPORT_3
#undef TORCHPORT_4
TORCHPORT_CC double norm(int count, const double* parts) {
  return torchport::norm_of(count, parts);
}
TORCHPORT_CC float normf(int count, const float* parts) {
  return torchport::plain_nan(static_cast<float>(torchport::norm_of(count, parts)));
}
TORCHPORT_CC double rnorm(int count, const double* parts) {
  return 1.0 / torchport::norm_of(count, parts);
}
TORCHPORT_CC float rnormf(int count, const float* parts) {
  return torchport::plain_nan(static_cast<float>(1.0 / torchport::norm_of(count, parts)));
}
TORCHPORT_C double rhypot(double x, double y) noexcept {
  return 1.0 / hypot(x, y);
}
TORCHPORT_C float rhypotf(float x, float y) noexcept {
  const float parts[] = {x, y};
  return torchport::plain_nan(static_cast<float>(1.0 / torchport::norm_of(2, parts)));
}
