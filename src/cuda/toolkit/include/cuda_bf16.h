// bfloat16, by CUDA's names. Every operation computes in float or double and rounds once.
#pragma once

#include "cuda_fp16.h"

#define TP_H __nv_bfloat16
#define TP_H2 __nv_bfloat162
#define TP_RAW __nv_bfloat16_raw
#define TP_RAW2 __nv_bfloat162_raw
#define TP_OTHER __half
#define TP_N bfloat16
#define TP_N2 bfloat162
#define TP_BITS torchport::BrainBits
#if defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
#define TP_NO_CONVERSIONS 1
#else
#define TP_NO_CONVERSIONS 0
#endif
#if defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define TP_NO_OPERATORS 1
#else
#define TP_NO_OPERATORS 0
#endif
#if defined(__CUDA_NO_BFLOAT162_OPERATORS__)
#define TP_NO_OPERATORS2 1
#else
#define TP_NO_OPERATORS2 0
#endif
#include "torchport/sixteen_types.inc"
//
#include "torchport/sixteen.inc"
#undef TP_H
#undef TP_H2
#undef TP_RAW
#undef TP_RAW2
#undef TP_OTHER
#undef TP_N
#undef TP_N2
#undef TP_BITS
#undef TP_NO_CONVERSIONS
#undef TP_NO_OPERATORS
#undef TP_NO_OPERATORS2

#if !defined(__CUDA_NO_HALF_CONVERSIONS__)
__forceinline__ __half::__half(const __nv_bfloat16 f)
    : __x(torchport::HalfBits::narrow(__bfloat162float(f))) {}
#endif
#if !defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
__forceinline__ __nv_bfloat16::__nv_bfloat16(const __half f)
    : __x(torchport::BrainBits::narrow(__half2float(f))) {}
#endif

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
