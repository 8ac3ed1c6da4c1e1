// Floats of 6 bits, by CUDA's names, each in a byte; all bits are numbers.
#pragma once

#include "cuda_fp8.h"

typedef __nv_fp8_storage_t __nv_fp6_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp6x2_storage_t;
typedef __nv_fp8x4_storage_t __nv_fp6x4_storage_t;

typedef enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 } __nv_fp6_interpretation_t;

__forceinline__ __nv_fp6_storage_t __nv_cvt_double_to_fp6(const double x,
                                                          const __nv_fp6_interpretation_t kind,
                                                          const enum cudaRoundMode rounding) {
  return kind == __NV_E3M2
             ? torchport::narrow_small<3, 2, 0x1f, 0x1f>(x, torchport::round_of(rounding))
             : torchport::narrow_small<2, 3, 0x1f, 0x1f>(x, torchport::round_of(rounding));
}
#define TORCHPORT_FROM(NAME, T, VALUE)                                                      \
  __forceinline__ __nv_fp6_storage_t __nv_cvt_##NAME##_to_fp6(                              \
      const T x, const __nv_fp6_interpretation_t kind, const enum cudaRoundMode rounding) { \
    return __nv_cvt_double_to_fp6(VALUE, kind, rounding);                                   \
  }
TORCHPORT_FROM(float, float, x)
TORCHPORT_FROM(halfraw, __half_raw, torchport::HalfBits::widen(x.x))
TORCHPORT_FROM(bfloat16raw, __nv_bfloat16_raw, torchport::BrainBits::widen(x.x))
#undef TORCHPORT_FROM
#define TORCHPORT_FROM(NAME, T, WIDEN)                                                            \
  __forceinline__ __nv_fp6x2_storage_t __nv_cvt_##NAME##_to_fp6x2(                                \
      const T x, const __nv_fp6_interpretation_t kind, const enum cudaRoundMode rounding) {       \
    return static_cast<__nv_fp6x2_storage_t>(__nv_cvt_double_to_fp6(WIDEN(x.x), kind, rounding) | \
                                             __nv_cvt_double_to_fp6(WIDEN(x.y), kind, rounding)   \
                                                 << 8);                                           \
  }
TORCHPORT_FROM(double2, double2, )
TORCHPORT_FROM(float2, float2, )
TORCHPORT_FROM(halfraw2, __half2_raw, torchport::HalfBits::widen)
TORCHPORT_FROM(bfloat16raw2, __nv_bfloat162_raw, torchport::BrainBits::widen)
#undef TORCHPORT_FROM

__forceinline__ __half_raw __nv_cvt_fp6_to_halfraw(const __nv_fp6_storage_t x,
                                                   const __nv_fp6_interpretation_t kind) {
  float f = kind == __NV_E3M2 ? torchport::widen_small<3, 2>(x) : torchport::widen_small<2, 3>(x);
  return __half_raw{torchport::HalfBits::narrow(f)};
}
__forceinline__ __half2_raw __nv_cvt_fp6x2_to_halfraw2(const __nv_fp6x2_storage_t x,
                                                       const __nv_fp6_interpretation_t kind) {
  return __half2_raw{
      __nv_cvt_fp6_to_halfraw(static_cast<__nv_fp6_storage_t>(x & 255), kind).x,
      __nv_cvt_fp6_to_halfraw(static_cast<__nv_fp6_storage_t>(x >> 8 & 255), kind).x};
}

#define TS_T __nv_fp6_e3m2
#define TS_T2 __nv_fp6x2_e3m2
#define TS_T4 __nv_fp6x4_e3m2
#define TS_S __nv_fp6_storage_t
#define TS_S2 __nv_fp6x2_storage_t
#define TS_S4 __nv_fp6x4_storage_t
#define TS_BITS 8
#define TS_FROM(x) __nv_cvt_double_to_fp6(x, __NV_E3M2, cudaRoundNearest)
#define TS_FLOAT(b) torchport::widen_small<3, 2>(b)
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

#define TS_T __nv_fp6_e2m3
#define TS_T2 __nv_fp6x2_e2m3
#define TS_T4 __nv_fp6x4_e2m3
#define TS_S __nv_fp6_storage_t
#define TS_S2 __nv_fp6x2_storage_t
#define TS_S4 __nv_fp6x4_storage_t
#define TS_BITS 8
#define TS_FROM(x) __nv_cvt_double_to_fp6(x, __NV_E2M3, cudaRoundNearest)
#define TS_FLOAT(b) torchport::widen_small<2, 3>(b)
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
