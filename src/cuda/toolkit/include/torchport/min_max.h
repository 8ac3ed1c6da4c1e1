// min and max of CUDA: for each pair of integer types the one that C++'s arithmetic conversions
// give, for floats fminf's rule that a NaN counts as missing.
#pragma once

#include "bits.h"

namespace torchport {

// Of a NaN and a number the number, of two NaNs the GPU's; -0 is below +0.
template <class F>
__forceinline__ F float_min(F x, F y) {
  if (x < y) return x;
  if (y < x) return y;
  if (x == y) return signbit(x) ? x : y;
  return x == x ? x : y == y ? y : x;
}
template <class F>
__forceinline__ F float_max(F x, F y) {
  if (x > y) return x;
  if (y > x) return y;
  if (x == y) return signbit(x) ? y : x;
  return x == x ? x : y == y ? y : x;
}

}  // namespace torchport

#define TORCHPORT_MIN_MAX(R, A, B)                  \
  __forceinline__ R min(A a, B b) {                 \
    R x = static_cast<R>(a), y = static_cast<R>(b); \
    return x < y ? x : y;                           \
  }                                                 \
  __forceinline__ R max(A a, B b) {                 \
    R x = static_cast<R>(a), y = static_cast<R>(b); \
    return x > y ? x : y;                           \
  }
TORCHPORT_MIN_MAX(int, int, int)
TORCHPORT_MIN_MAX(unsigned int, unsigned int, unsigned int)
TORCHPORT_MIN_MAX(unsigned int, int, unsigned int)
TORCHPORT_MIN_MAX(unsigned int, unsigned int, int)
TORCHPORT_MIN_MAX(long int, long int, long int)
TORCHPORT_MIN_MAX(unsigned long int, unsigned long int, unsigned long int)
TORCHPORT_MIN_MAX(unsigned long int, long int, unsigned long int)
TORCHPORT_MIN_MAX(unsigned long int, unsigned long int, long int)
TORCHPORT_MIN_MAX(long long int, long long int, long long int)
TORCHPORT_MIN_MAX(unsigned long long int, unsigned long long int, unsigned long long int)
TORCHPORT_MIN_MAX(unsigned long long int, long long int, unsigned long long int)
TORCHPORT_MIN_MAX(unsigned long long int, unsigned long long int, long long int)
#undef TORCHPORT_MIN_MAX
#define TORCHPORT_MIN_MAX(R, A, B)        \
  __forceinline__ R min(A a, B b) {       \
    return torchport::float_min<R>(a, b); \
  }                                       \
  __forceinline__ R max(A a, B b) {       \
    return torchport::float_max<R>(a, b); \
  }
TORCHPORT_MIN_MAX(float, float, float)
TORCHPORT_MIN_MAX(double, double, double)
TORCHPORT_MIN_MAX(double, float, double)
TORCHPORT_MIN_MAX(double, double, float)
#undef TORCHPORT_MIN_MAX

__forceinline__ unsigned int umin(unsigned int a, unsigned int b) {
  return a < b ? a : b;
}
__forceinline__ unsigned int umax(unsigned int a, unsigned int b) {
  return a > b ? a : b;
}
__forceinline__ long long llmin(long long a, long long b) {
  return a < b ? a : b;
}
__forceinline__ long long llmax(long long a, long long b) {
  return a > b ? a : b;
}
__forceinline__ unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return a < b ? a : b;
}
__forceinline__ unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a > b ? a : b;
}

TORCHPORT_OVER float fminf(float x, float y) noexcept {
  return torchport::float_min(x, y);
}
TORCHPORT_OVER float fmaxf(float x, float y) noexcept {
  return torchport::float_max(x, y);
}
TORCHPORT_OVER double fmin(double x, double y) noexcept {
  return torchport::float_min(x, y);
}
TORCHPORT_OVER double fmax(double x, double y) noexcept {
  return torchport::float_max(x, y);
}
