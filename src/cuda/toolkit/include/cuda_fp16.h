// IEEE half precision, by CUDA's names. Every operation computes in float or double and rounds
// once.
#pragma once

#include "torchport/functions.h"
#include "torchport/small_floats.h"

struct __nv_bfloat16;

#define TP_H __half
#define TP_H2 __half2
#define TP_RAW __half_raw
#define TP_RAW2 __half2_raw
#define TP_OTHER __nv_bfloat16
#define TP_N half
#define TP_N2 half2
#define TP_BITS torchport::HalfBits
#if defined(__CUDA_NO_HALF_CONVERSIONS__)
#define TP_NO_CONVERSIONS 1
#else
#define TP_NO_CONVERSIONS 0
#endif
#if defined(__CUDA_NO_HALF_OPERATORS__)
#define TP_NO_OPERATORS 1
#else
#define TP_NO_OPERATORS 0
#endif
#if defined(__CUDA_NO_HALF2_OPERATORS__)
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

#if !defined(CUDA_NO_HALF)
typedef __half half;
typedef __half2 half2;
#endif
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;
typedef __half nv_half;
typedef __half2 nv_half2;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
