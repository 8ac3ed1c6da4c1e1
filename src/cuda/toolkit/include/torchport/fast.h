// The approximations that a GPU's special-function unit computes, and the intrinsics on top of
// them. Here each is the exact function rounded to float (at most 1 ulp off): the unit's own error,
// which the programming guide states as 2 ulp for ex2, lg2, rcp and rsqrt, 2^-20.9 (absolute) for
// sin and cos and 2^-11 (relative) for tanh, is not imitated. What the guide says of ranges is.
#pragma once

#include "bits.h"

extern "C" float torchport_c_sinf(float) noexcept __asm__("sinf") __attribute__((const));
extern "C" float torchport_c_cosf(float) noexcept __asm__("cosf") __attribute__((const));
extern "C" float torchport_c_tanhf(float) noexcept __asm__("tanhf") __attribute__((const));
extern "C" float torchport_c_exp2f(float) noexcept __asm__("exp2f") __attribute__((const));
extern "C" float torchport_c_log2f(float) noexcept __asm__("log2f") __attribute__((const));

namespace torchport {

__forceinline__ float flushed(float x) {
  return __builtin_fabsf(x) < 1.17549435e-38f ? __builtin_copysignf(0.0f, x) : x;
}
// With -ftz=true the unit takes and gives no subnormal numbers.
__forceinline__ float flushed_if_asked(float x) {
#if defined(__TORCHPORT_FTZ__)
  return flushed(x);
#else
  return x;
#endif
}
__forceinline__ float approximate_exp2(float x) {
  return flushed_if_asked(plain_nan(torchport_c_exp2f(x)));
}
__forceinline__ float approximate_log2(float x) {
  return plain_nan(torchport_c_log2f(flushed_if_asked(x)));
}
__forceinline__ float approximate_reciprocal(float x) {
  return flushed_if_asked(plain_nan(1.0f / flushed_if_asked(x)));
}
__forceinline__ float approximate_rsqrt(float x) {
  return plain_nan(
      static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(flushed_if_asked(x)))));
}
__forceinline__ float approximate_sqrt(float x) {
  return plain_nan(__builtin_sqrtf(flushed_if_asked(x)));
}
// The unit takes turns: the argument is multiplied by 1 / (2 pi) in float, cut off, and only the
// part of a turn counts. So the error of a large argument is the real one.
__forceinline__ float part_of_turn(float x) {
  constexpr float kTurns = 0.15915494f;
  float t = x * kTurns;
  double exact = static_cast<double>(x) * kTurns;
  if (__builtin_fabs(static_cast<double>(t)) > __builtin_fabs(exact) && x - x == 0)
    t = bits<float>(bits<unsigned>(t) - 1);
  float whole = __builtin_nearbyintf(t);
  return (whole == 0 ? t : t - whole) * 6.2831853f;
}
__forceinline__ float approximate_sin(float x) {
  return plain_nan(torchport_c_sinf(part_of_turn(x)));
}
__forceinline__ float approximate_cos(float x) {
  return plain_nan(torchport_c_cosf(part_of_turn(x)));
}
__forceinline__ float approximate_tanh(float x) {
  return plain_nan(torchport_c_tanhf(x));
}

}  // namespace torchport

TORCHPORT_C float __expf(float x) noexcept {
  return torchport::approximate_exp2(torchport::unfused(x * 1.442695041f));
}
TORCHPORT_C float __exp2f(float x) noexcept {
  return torchport::approximate_exp2(x);
}
TORCHPORT_C float __exp10f(float x) noexcept {
  return torchport::approximate_exp2(torchport::unfused(x * 3.321928094f));
}
TORCHPORT_C float __log2f(float x) noexcept {
  return torchport::approximate_log2(x);
}
TORCHPORT_C float __logf(float x) noexcept {
  return torchport::approximate_log2(x) * 0.693147181f;
}
TORCHPORT_C float __log10f(float x) noexcept {
  return torchport::approximate_log2(x) * 0.301029996f;
}
TORCHPORT_C float __powf(float x, float y) noexcept {
  return torchport::approximate_exp2(torchport::unfused(y * torchport::approximate_log2(x)));
}
TORCHPORT_C float __sinf(float x) noexcept {
  return torchport::approximate_sin(x);
}
TORCHPORT_C float __cosf(float x) noexcept {
  return torchport::approximate_cos(x);
}
TORCHPORT_C void __sincosf(float x, float* s, float* c) noexcept {
  *s = torchport::approximate_sin(x);
  *c = torchport::approximate_cos(x);
}
TORCHPORT_C float __tanhf(float x) noexcept {
  return torchport::approximate_tanh(x);
}
// For divisors in (2^126, 2^128) the reciprocal is flushed to 0 (the programming guide, section on
// intrinsics), so that an infinite dividend gives a NaN.
TORCHPORT_CC float __fdividef(float x, float y) {
  float a = __builtin_fabsf(y);
  if (a > 8.507059173e37f && a <= 3.402823466e38f) {
    return torchport::plain_nan(x * __builtin_copysignf(0.0f, y));
  }
  return torchport::plain_nan(x / y);
}
TORCHPORT_CC float fdividef(float x, float y) {
  return torchport::plain_nan(x / y);
}
TORCHPORT_CC double fdivide(double x, double y) {
  return x / y;
}
TORCHPORT_CC float fdivide(float x, float y) {
  return fdividef(x, y);
}
TORCHPORT_C float __tanf(float x) noexcept {
  return __fdividef(torchport::approximate_sin(x), torchport::approximate_cos(x));
}
TORCHPORT_CC float __saturatef(float x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}
