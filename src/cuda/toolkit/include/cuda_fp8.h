// Floats of 8 bits, by CUDA's names: e4m3 (no infinity, up to 448), e5m2 and the exponents e8m0.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short int __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

__forceinline__ __nv_fp8_storage_t __nv_cvt_double_to_fp8(const double x,
                                                          const __nv_saturation_t saturate,
                                                          const __nv_fp8_interpretation_t kind) {
  bool finite = saturate == __NV_SATFINITE;
  return kind == __NV_E4M3 ? torchport::narrow_small<4, 3, 0x7e, 0x7f>(
                                 x, torchport::Round::kNearest, finite ? 0x7e : 0x7f)
                           : torchport::narrow_small<5, 2, 0x7b, 0x7e>(
                                 x, torchport::Round::kNearest, finite ? 0x7b : 0x7c);
}
__forceinline__ __nv_fp8_storage_t __nv_cvt_float_to_fp8(const float x,
                                                         const __nv_saturation_t saturate,
                                                         const __nv_fp8_interpretation_t kind) {
  return x == x ? __nv_cvt_double_to_fp8(x, saturate, kind) : static_cast<__nv_fp8_storage_t>(0x7f);
}
__forceinline__ __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(const __half_raw x,
                                                           const __nv_saturation_t saturate,
                                                           const __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(torchport::HalfBits::widen(x.x), saturate, kind);
}
__forceinline__ __nv_fp8_storage_t
__nv_cvt_bfloat16raw_to_fp8(const __nv_bfloat16_raw x, const __nv_saturation_t saturate,
                            const __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(torchport::BrainBits::widen(x.x), saturate, kind);
}
#define TORCHPORT_PAIR(NAME, PAIR, ONE)                                                     \
  __forceinline__ __nv_fp8x2_storage_t NAME(const PAIR x, const __nv_saturation_t saturate, \
                                            const __nv_fp8_interpretation_t kind) {         \
    return static_cast<__nv_fp8x2_storage_t>(ONE(x.x) | ONE(x.y) << 8);                     \
  }
#define TORCHPORT_ONE(v) __nv_cvt_double_to_fp8(v, saturate, kind)
TORCHPORT_PAIR(__nv_cvt_double2_to_fp8x2, double2, TORCHPORT_ONE)
#undef TORCHPORT_ONE
#define TORCHPORT_ONE(v) __nv_cvt_float_to_fp8(v, saturate, kind)
TORCHPORT_PAIR(__nv_cvt_float2_to_fp8x2, float2, TORCHPORT_ONE)
#undef TORCHPORT_ONE
#define TORCHPORT_ONE(v) __nv_cvt_halfraw_to_fp8(__half_raw{v}, saturate, kind)
TORCHPORT_PAIR(__nv_cvt_halfraw2_to_fp8x2, __half2_raw, TORCHPORT_ONE)
#undef TORCHPORT_ONE
#define TORCHPORT_ONE(v) __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw{v}, saturate, kind)
TORCHPORT_PAIR(__nv_cvt_bfloat16raw2_to_fp8x2, __nv_bfloat162_raw, TORCHPORT_ONE)
#undef TORCHPORT_ONE
#undef TORCHPORT_PAIR

__forceinline__ __half_raw __nv_cvt_fp8_to_halfraw(const __nv_fp8_storage_t x,
                                                   const __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E5M2) {
    unsigned short h = static_cast<unsigned short>(x << 8);
    return __half_raw{static_cast<unsigned short>((h & 0x7fff) > 0x7c00 ? 0x7fff : h)};
  }
  if ((x & 0x7f) == 0x7f) return __half_raw{0x7fff};
  return __half_raw{torchport::HalfBits::narrow(torchport::widen_small<4, 3>(x))};
}
__forceinline__ __half2_raw __nv_cvt_fp8x2_to_halfraw2(const __nv_fp8x2_storage_t x,
                                                       const __nv_fp8_interpretation_t kind) {
  return __half2_raw{__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x & 255), kind).x,
                     __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x >> 8), kind).x};
}

namespace torchport {
__forceinline__ float widen_e4m3(unsigned char b) {
  return (b & 0x7f) == 0x7f ? float_nan() : widen_small<4, 3>(b);
}
__forceinline__ float widen_e5m2(unsigned char b) {
  return HalfBits::widen(static_cast<unsigned short>(b << 8));
}
__forceinline__ unsigned char narrow_e4m3(float x) {
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}
__forceinline__ unsigned char narrow_e4m3(double x) {
  return __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}
__forceinline__ unsigned char narrow_e5m2(float x) {
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
}
__forceinline__ unsigned char narrow_e5m2(double x) {
  return __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
}
// The exponent of |x|, next above (kUp) or below; 2^-127 is the least.
inline unsigned char narrow_e8m0(double x, bool finite, Round mode) {
  if (x != x) return 0xff;
  double a = std::fabs(x);
  if (a > 1e39) return finite ? 0xfe : 0xff;
  if (a < 5.877471754111438e-39) return 0;
  int e = std::ilogb(a);
  double power = std::ldexp(1.0, e);
  if (mode == Round::kUp && a > power) ++e;
  return static_cast<unsigned char>(e > 127 ? (finite ? 0xfe : 0xff) : e + 127);
}
inline float widen_e8m0(unsigned char b) {
  return b == 0xff ? float_nan()
         : b       ? bits<float>(static_cast<unsigned>(b) << 23)
                   : bits<float>(0x00400000u);
}
}  // namespace torchport

#define TS_T __nv_fp8_e4m3
#define TS_T2 __nv_fp8x2_e4m3
#define TS_T4 __nv_fp8x4_e4m3
#define TS_S __nv_fp8_storage_t
#define TS_S2 __nv_fp8x2_storage_t
#define TS_S4 __nv_fp8x4_storage_t
#define TS_BITS 8
#define TS_FROM(x) torchport::narrow_e4m3(x)
#define TS_FLOAT(b) torchport::widen_e4m3(b)
#include "torchport/small_types.inc"
#undef TS_T
#undef TS_T2
#undef TS_T4
#undef TS_S
#undef TS_S2
#undef TS_S4
#undef TS_BITS
#undef TS_FROM
#undef TS_FLOAT

#define TS_T __nv_fp8_e5m2
#define TS_T2 __nv_fp8x2_e5m2
#define TS_T4 __nv_fp8x4_e5m2
#define TS_S __nv_fp8_storage_t
#define TS_S2 __nv_fp8x2_storage_t
#define TS_S4 __nv_fp8x4_storage_t
#define TS_BITS 8
#define TS_FROM(x) torchport::narrow_e5m2(x)
#define TS_FLOAT(b) torchport::widen_e5m2(b)
#include "torchport/small_types.inc"
#undef TS_T
#undef TS_T2
#undef TS_T4
#undef TS_S
#undef TS_S2
#undef TS_S4
#undef TS_BITS
#undef TS_FROM
#undef TS_FLOAT

__forceinline__ __nv_fp8_storage_t __nv_cvt_double_to_e8m0(const double x,
                                                           const __nv_saturation_t saturate,
                                                           const enum cudaRoundMode rounding) {
  return torchport::narrow_e8m0(x, saturate == __NV_SATFINITE, torchport::round_of(rounding));
}
__forceinline__ __nv_fp8_storage_t __nv_cvt_float_to_e8m0(const float x,
                                                          const __nv_saturation_t saturate,
                                                          const enum cudaRoundMode rounding) {
  return __nv_cvt_double_to_e8m0(x, saturate, rounding);
}
__forceinline__ __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(const __nv_bfloat16_raw x,
                                                                const __nv_saturation_t saturate,
                                                                const enum cudaRoundMode rounding) {
  return __nv_cvt_double_to_e8m0(torchport::BrainBits::widen(x.x), saturate, rounding);
}
__forceinline__ __nv_fp8x2_storage_t __nv_cvt_double2_to_e8m0x2(const double2 x,
                                                                const __nv_saturation_t saturate,
                                                                const enum cudaRoundMode rounding) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_double_to_e8m0(x.x, saturate, rounding) |
                                           __nv_cvt_double_to_e8m0(x.y, saturate, rounding) << 8);
}
__forceinline__ __nv_fp8x2_storage_t __nv_cvt_float2_to_e8m0x2(const float2 x,
                                                               const __nv_saturation_t saturate,
                                                               const enum cudaRoundMode rounding) {
  return __nv_cvt_double2_to_e8m0x2(double2{x.x, x.y}, saturate, rounding);
}
__forceinline__ __nv_fp8x2_storage_t
__nv_cvt_bfloat162raw_to_e8m0x2(const __nv_bfloat162_raw x, const __nv_saturation_t saturate,
                                const enum cudaRoundMode rounding) {
  return __nv_cvt_double2_to_e8m0x2(
      double2{torchport::BrainBits::widen(x.x), torchport::BrainBits::widen(x.y)}, saturate,
      rounding);
}
__forceinline__ __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(const __nv_fp8_storage_t x) {
  return __nv_bfloat16_raw{torchport::BrainBits::narrow(torchport::widen_e8m0(x))};
}
__forceinline__ __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(const __nv_fp8x2_storage_t x) {
  return __nv_bfloat162_raw{__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x & 255)).x,
                            __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x >> 8)).x};
}

#define TS_T __nv_fp8_e8m0
#define TS_T2 __nv_fp8x2_e8m0
#define TS_T4 __nv_fp8x4_e8m0
#define TS_S __nv_fp8_storage_t
#define TS_S2 __nv_fp8x2_storage_t
#define TS_S4 __nv_fp8x4_storage_t
#define TS_BITS 8
#define TS_FROM(x) torchport::narrow_e8m0(x, true, torchport::Round::kUp)
#define TS_FLOAT(b) torchport::widen_e8m0(b)
#include "torchport/small_types.inc"
#undef TS_T
#undef TS_T2
#undef TS_T4
#undef TS_S
#undef TS_S2
#undef TS_S4
#undef TS_BITS
#undef TS_FROM
#undef TS_FLOAT
