// The names of <math.h> as CUDA overloads them for float, and its float functions whose NaN is the
// GPU's. -use_fast_math turns the float ones into intrinsics, as nvcc does.
#pragma once

#include "fast.h"
#include "special.h"

#define TORCHPORT_OVERLOAD(NAME)     \
  TORCHPORT_CC float NAME(float x) { \
    return NAME##f(x);               \
  }
TORCHPORT_OVERLOAD(rsqrt)
TORCHPORT_OVERLOAD(rcbrt)
TORCHPORT_OVERLOAD(exp10)
TORCHPORT_OVERLOAD(j0)
TORCHPORT_OVERLOAD(j1)
TORCHPORT_OVERLOAD(y0)
TORCHPORT_OVERLOAD(y1)
#undef TORCHPORT_OVERLOAD
TORCHPORT_CC float jn(int n, float x) {
  return jnf(n, x);
}
TORCHPORT_CC float yn(int n, float x) {
  return ynf(n, x);
}
TORCHPORT_CC float rhypot(float x, float y) {
  return rhypotf(x, y);
}
TORCHPORT_CC void sincos(float x, float* s, float* c) {
  sincosf(x, s, c);
}

#if defined(__USE_FAST_MATH__)
#define TORCHPORT_FAST(NAME)                       \
  TORCHPORT_OVER float NAME##f(float x) noexcept { \
    return __##NAME##f(x);                         \
  }
TORCHPORT_FAST(sin)
TORCHPORT_FAST(cos)
TORCHPORT_FAST(tan)
TORCHPORT_FAST(exp)
TORCHPORT_FAST(exp10)
TORCHPORT_FAST(log)
TORCHPORT_FAST(log2)
TORCHPORT_FAST(log10)
TORCHPORT_FAST(tanh)
#undef TORCHPORT_FAST
TORCHPORT_OVER float powf(float x, float y) noexcept {
  return __powf(x, y);
}
TORCHPORT_OVER void sincosf(float x, float* s, float* c) noexcept {
  __sincosf(x, s, c);
}
#endif

// The C library's function, whose NaN is written as the GPU's.
#define TORCHPORT_PLAIN(NAME)                                                                \
  extern "C" float torchport_c_##NAME(float) noexcept __asm__(#NAME) __attribute__((const)); \
  TORCHPORT_OVER float NAME(float x) noexcept {                                              \
    return torchport::plain_nan(torchport_c_##NAME(x));                                      \
  }
#if !defined(__USE_FAST_MATH__)
TORCHPORT_PLAIN(sinf)
TORCHPORT_PLAIN(cosf)
TORCHPORT_PLAIN(tanf)
TORCHPORT_PLAIN(expf)
TORCHPORT_PLAIN(exp10f)
TORCHPORT_PLAIN(logf)
TORCHPORT_PLAIN(log2f)
TORCHPORT_PLAIN(log10f)
TORCHPORT_PLAIN(tanhf)
#endif
TORCHPORT_PLAIN(asinf)
TORCHPORT_PLAIN(acosf)
TORCHPORT_PLAIN(atanf)
TORCHPORT_PLAIN(sinhf)
TORCHPORT_PLAIN(coshf)
TORCHPORT_PLAIN(asinhf)
TORCHPORT_PLAIN(acoshf)
TORCHPORT_PLAIN(atanhf)
TORCHPORT_PLAIN(exp2f)
TORCHPORT_PLAIN(expm1f)
TORCHPORT_PLAIN(log1pf)
TORCHPORT_PLAIN(cbrtf)
TORCHPORT_PLAIN(erff)
TORCHPORT_PLAIN(erfcf)
#undef TORCHPORT_PLAIN
#define TORCHPORT_PLAIN(NAME)                                               \
  extern "C" float torchport_c_##NAME(float, float) noexcept __asm__(#NAME) \
      __attribute__((const));                                               \
  TORCHPORT_OVER float NAME(float x, float y) noexcept {                    \
    return torchport::plain_nan(torchport_c_##NAME(x, y));                  \
  }
#if !defined(__USE_FAST_MATH__)
TORCHPORT_PLAIN(powf)
#endif
TORCHPORT_PLAIN(fmodf)
TORCHPORT_PLAIN(remainderf)
TORCHPORT_PLAIN(atan2f)
TORCHPORT_PLAIN(hypotf)
#undef TORCHPORT_PLAIN
