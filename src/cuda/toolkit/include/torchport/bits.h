// What the device functions of these headers share: bits of values, and barriers that keep a
// product or a sum from being fused with what follows, as CUDA's _rn functions promise.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../crt/host_defines.h"
#include "../device_types.h"
#include "../vector_functions.h"
#include "../vector_types.h"

// A function of CUDA that a C library may declare, too: the same linkage and exceptions as there.
#define TORCHPORT_C extern "C" __inline__ __attribute__((unused))
#define TORCHPORT_CC __inline__ __attribute__((unused))
// A function that replaces the C library's where it is called by name; its address is the
// library's.
#define TORCHPORT_OVER extern "C" __inline__ __attribute__((gnu_inline, always_inline, unused))

namespace torchport {

template <class To, class From>
constexpr __forceinline__ To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

// The NaN that a GPU's float instructions give.
__forceinline__ float float_nan() {
  return bits<float>(0x7fffffffu);
}
__forceinline__ double double_nan() {
  return bits<double>(0xfff8000000000000ull);
}
// A NaN of the C library as the GPU writes it.
__forceinline__ float plain_nan(float x) {
  return x != x ? float_nan() : x;
}
// Of a double function whose argument was no NaN.
__forceinline__ double plain_nan(double x) {
  return x != x ? double_nan() : x;
}

// The value, which no fused multiply-add reaches through.
template <class T>
__forceinline__ T unfused(T x) {
#if defined(__x86_64__)
  __asm__("" : "+x"(x));
  return x;
#else
  return __builtin_assoc_barrier(x);
#endif
}

}  // namespace torchport

__forceinline__ float __int_as_float(int x) {
  return torchport::bits<float>(x);
}
__forceinline__ int __float_as_int(float x) {
  return torchport::bits<int>(x);
}
__forceinline__ float __uint_as_float(unsigned int x) {
  return torchport::bits<float>(x);
}
__forceinline__ unsigned int __float_as_uint(float x) {
  return torchport::bits<unsigned int>(x);
}
__forceinline__ double __longlong_as_double(long long x) {
  return torchport::bits<double>(x);
}
__forceinline__ long long __double_as_longlong(double x) {
  return torchport::bits<long long>(x);
}
__forceinline__ int __double2hiint(double x) {
  return static_cast<int>(torchport::bits<unsigned long long>(x) >> 32);
}
__forceinline__ int __double2loint(double x) {
  return static_cast<int>(torchport::bits<unsigned long long>(x));
}
__forceinline__ double __hiloint2double(int hi, int lo) {
  return torchport::bits<double>(static_cast<unsigned long long>(static_cast<unsigned>(hi)) << 32 |
                                 static_cast<unsigned>(lo));
}
