// Floats of 4 bits, by CUDA's names, two in a byte; all bits are numbers.
#pragma once

#include "cuda_fp8.h"

typedef __nv_fp8_storage_t __nv_fp4_storage_t;
typedef __nv_fp8_storage_t __nv_fp4x2_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp4x4_storage_t;

typedef enum __nv_fp4_interpretation_t { __NV_E2M1 } __nv_fp4_interpretation_t;

__forceinline__ __nv_fp4_storage_t __nv_cvt_double_to_fp4(const double x,
                                                          const __nv_fp4_interpretation_t kind,
                                                          const enum cudaRoundMode rounding) {
  (void)kind;
  return torchport::narrow_small<2, 1, 0x7, 0x7>(x, torchport::round_of(rounding));
}
#define TORCHPORT_FROM(NAME, T, VALUE)                                                      \
  __forceinline__ __nv_fp4_storage_t __nv_cvt_##NAME##_to_fp4(                              \
      const T x, const __nv_fp4_interpretation_t kind, const enum cudaRoundMode rounding) { \
    return __nv_cvt_double_to_fp4(VALUE, kind, rounding);                                   \
  }
TORCHPORT_FROM(float, float, x)
TORCHPORT_FROM(halfraw, __half_raw, torchport::HalfBits::widen(x.x))
TORCHPORT_FROM(bfloat16raw, __nv_bfloat16_raw, torchport::BrainBits::widen(x.x))
#undef TORCHPORT_FROM
#define TORCHPORT_FROM(NAME, T, WIDEN)                                                            \
  __forceinline__ __nv_fp4x2_storage_t __nv_cvt_##NAME##_to_fp4x2(                                \
      const T x, const __nv_fp4_interpretation_t kind, const enum cudaRoundMode rounding) {       \
    return static_cast<__nv_fp4x2_storage_t>(__nv_cvt_double_to_fp4(WIDEN(x.x), kind, rounding) | \
                                             __nv_cvt_double_to_fp4(WIDEN(x.y), kind, rounding)   \
                                                 << 4);                                           \
  }
TORCHPORT_FROM(double2, double2, )
TORCHPORT_FROM(float2, float2, )
TORCHPORT_FROM(halfraw2, __half2_raw, torchport::HalfBits::widen)
TORCHPORT_FROM(bfloat16raw2, __nv_bfloat162_raw, torchport::BrainBits::widen)
#undef TORCHPORT_FROM

__forceinline__ __half_raw __nv_cvt_fp4_to_halfraw(const __nv_fp4_storage_t x,
                                                   const __nv_fp4_interpretation_t kind) {
  (void)kind;
  float f = torchport::widen_small<2, 1>(x);
  return __half_raw{torchport::HalfBits::narrow(f)};
}
__forceinline__ __half2_raw __nv_cvt_fp4x2_to_halfraw2(const __nv_fp4x2_storage_t x,
                                                       const __nv_fp4_interpretation_t kind) {
  return __half2_raw{__nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(x & 15), kind).x,
                     __nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(x >> 4 & 15), kind).x};
}

#define TS_T __nv_fp4_e2m1
#define TS_T2 __nv_fp4x2_e2m1
#define TS_T4 __nv_fp4x4_e2m1
#define TS_S __nv_fp4_storage_t
#define TS_S2 __nv_fp4x2_storage_t
#define TS_S4 __nv_fp4x4_storage_t
#define TS_BITS 4
#define TS_FROM(x) __nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest)
#define TS_FLOAT(b) torchport::widen_small<2, 1>(b)
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
