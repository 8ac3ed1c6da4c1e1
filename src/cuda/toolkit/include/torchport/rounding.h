// Arithmetic in a stated direction: rn nearest even, rz to zero, ru up, rd down. Floats are
// computed in double, whose error's sign decides; doubles with the processor's rounding mode, which
// stays set for the one operation.
#pragma once

#include <cfenv>

#include "bits.h"

namespace torchport {

enum class Round { kNearest, kZero, kUp, kDown };

// s plus an error, of which only the sign counts and which is far below s, as float.
template <Round kMode>
__forceinline__ float to_float(double s, double error = 0) {
  float f = static_cast<float>(s);
  if (f != f) return float_nan();
  double off = static_cast<double>(f) - s;  // not exact for infinity, but of the right sign
  if (s - s != 0) {                         // s is infinite: so was an operand, or a division by 0
    return f;
  }
  if (off == 0) off = -error;
  if (off == 0) return f;
  if (kMode == Round::kNearest) {
    // s lies on a tie, or rounded onto one, only where f - s is half a step: the error decides.
    if (error != 0 && static_cast<double>(f) != s) {
      float other = off > 0 ? nextafterf(f, -INFINITY) : nextafterf(f, INFINITY);
      if (static_cast<double>(f) - s == s - static_cast<double>(other) && (off > 0) == (error < 0))
        return other;
    }
    return f;
  }
  bool up = kMode == Round::kUp || (kMode == Round::kZero && s < 0);
  if (up && off < 0) return nextafterf(f, INFINITY);
  if (!up && off > 0) return nextafterf(f, -INFINITY);
  return f;
}

// What a sum of two doubles loses (Knuth).
__forceinline__ double lost(double a, double b, double s) {
  double t = unfused(s - a);
  return unfused(a - unfused(s - t)) + unfused(b - t);
}

// The sign of a sum that is exactly 0 depends on the direction.
template <Round kMode>
__forceinline__ float sum_to_float(double a, double b) {
  double s = unfused(a + b);
  if (s == 0 && kMode == Round::kDown && (a != 0 || signbit(a) != signbit(b))) return -0.0f;
  return to_float<kMode>(s, s - s == 0 ? lost(a, b, s) : 0);
}

template <Round kMode>
__forceinline__ float fma_to_float(float a, float b, float c) {
  return sum_to_float<kMode>(static_cast<double>(a) * b, c);
}
template <Round kMode>
__forceinline__ float quotient_to_float(float a, float b) {
  double q = static_cast<double>(a) / b;
  if (b == 0 || q - q != 0) return plain_nan(static_cast<float>(q));
  double rest = std::fma(-q, static_cast<double>(b), static_cast<double>(a));
  return to_float<kMode>(q, b < 0 ? -rest : rest);
}
template <Round kMode>
__forceinline__ float root_to_float(float a) {
  double q = std::sqrt(static_cast<double>(a));
  if (q - q != 0) return plain_nan(static_cast<float>(q));
  return to_float<kMode>(q, std::fma(-q, q, static_cast<double>(a)));
}

// The processor's rounding mode for as long as this lives.
class Direction {
 public:
  explicit Direction(Round mode) {
#if defined(__x86_64__)
    __asm__ volatile("stmxcsr %0" : "=m"(before_));
    static constexpr unsigned kBits[] = {0, 0x6000, 0x4000, 0x2000};
    unsigned now = (before_ & ~0x6000u) | kBits[static_cast<int>(mode)];
    __asm__ volatile("ldmxcsr %0" : : "m"(now));
#else
    static constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    before_ = std::fegetround();
    std::fesetround(kModes[static_cast<int>(mode)]);
#endif
  }
  Direction(const Direction&) = delete;
  ~Direction() {
#if defined(__x86_64__)
    __asm__ volatile("ldmxcsr %0" : : "m"(before_));
#else
    std::fesetround(before_);
#endif
  }

 private:
#if defined(__x86_64__)
  unsigned before_;
#else
  int before_;
#endif
};

// The compiler may neither compute f before nor after the mode is set: its operands and its result
// pass through memory that it cannot know.
template <class F, class... T>
__forceinline__ double directed(Round mode, F f, T... operands) {
  Direction direction(mode);
  volatile double result = [&](auto... kept) {
    return f(static_cast<double>(kept)...);
  }(*const_cast<volatile T*>(&operands)...);
  return result;
}

}  // namespace torchport

#define TORCHPORT_ROUNDED(R, MODE)                                                  \
  __forceinline__ float __fadd_##R(float x, float y) {                              \
    return torchport::sum_to_float<torchport::Round::MODE>(x, y);                   \
  }                                                                                 \
  __forceinline__ float __fsub_##R(float x, float y) {                              \
    return torchport::sum_to_float<torchport::Round::MODE>(x, -y);                  \
  }                                                                                 \
  __forceinline__ float __fmul_##R(float x, float y) {                              \
    return torchport::to_float<torchport::Round::MODE>(static_cast<double>(x) * y); \
  }                                                                                 \
  __forceinline__ float __fmaf_##R(float x, float y, float z) {                     \
    return torchport::fma_to_float<torchport::Round::MODE>(x, y, z);                \
  }                                                                                 \
  __forceinline__ float __fmaf_ieee_##R(float x, float y, float z) {                \
    return __fmaf_##R(x, y, z);                                                     \
  }                                                                                 \
  __forceinline__ float __fdiv_##R(float x, float y) {                              \
    return torchport::quotient_to_float<torchport::Round::MODE>(x, y);              \
  }                                                                                 \
  __forceinline__ float __frcp_##R(float x) {                                       \
    return torchport::quotient_to_float<torchport::Round::MODE>(1.0f, x);           \
  }                                                                                 \
  __forceinline__ float __fsqrt_##R(float x) {                                      \
    return torchport::root_to_float<torchport::Round::MODE>(x);                     \
  }
TORCHPORT_ROUNDED(rz, kZero)
TORCHPORT_ROUNDED(ru, kUp)
TORCHPORT_ROUNDED(rd, kDown)
#undef TORCHPORT_ROUNDED

__forceinline__ float __fadd_rn(float x, float y) {
  return torchport::unfused(torchport::unfused(x) + torchport::unfused(y));
}
__forceinline__ float __fsub_rn(float x, float y) {
  return torchport::unfused(torchport::unfused(x) - torchport::unfused(y));
}
__forceinline__ float __fmul_rn(float x, float y) {
  return torchport::unfused(x * y);
}
__forceinline__ float __fmaf_rn(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
__forceinline__ float __fmaf_ieee_rn(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
__forceinline__ float __fdiv_rn(float x, float y) {
  return x / y;
}
__forceinline__ float __frcp_rn(float x) {
  return 1.0f / x;
}
__forceinline__ float __fsqrt_rn(float x) {
  return __builtin_sqrtf(x);
}
// Rounded once: the double's root and quotient have bits to spare, and no tie is possible.
__forceinline__ float __frsqrt_rn(float x) {
  return torchport::plain_nan(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))));
}

#define TORCHPORT_ROUNDED(R, MODE)                                                                 \
  __forceinline__ double __dadd_##R(double x, double y) {                                          \
    return torchport::directed(                                                                    \
        torchport::Round::MODE, [](double a, double b) { return a + b; }, x, y);                   \
  }                                                                                                \
  __forceinline__ double __dsub_##R(double x, double y) {                                          \
    return torchport::directed(                                                                    \
        torchport::Round::MODE, [](double a, double b) { return a - b; }, x, y);                   \
  }                                                                                                \
  __forceinline__ double __dmul_##R(double x, double y) {                                          \
    return torchport::directed(                                                                    \
        torchport::Round::MODE, [](double a, double b) { return a * b; }, x, y);                   \
  }                                                                                                \
  __forceinline__ double __ddiv_##R(double x, double y) {                                          \
    return torchport::directed(                                                                    \
        torchport::Round::MODE, [](double a, double b) { return a / b; }, x, y);                   \
  }                                                                                                \
  __forceinline__ double __drcp_##R(double x) {                                                    \
    return __ddiv_##R(1.0, x);                                                                     \
  }                                                                                                \
  __forceinline__ double __dsqrt_##R(double x) {                                                   \
    return torchport::directed(                                                                    \
        torchport::Round::MODE, [](double a) { return std::sqrt(a); }, x);                         \
  }                                                                                                \
  __forceinline__ double __fma_##R(double x, double y, double z) {                                 \
    return torchport::directed(                                                                    \
        torchport::Round::MODE, [](double a, double b, double c) { return std::fma(a, b, c); }, x, \
        y, z);                                                                                     \
  }                                                                                                \
  __forceinline__ float __double2float_##R(double x) {                                             \
    return x == x ? torchport::to_float<torchport::Round::MODE>(x) : static_cast<float>(x);        \
  }
TORCHPORT_ROUNDED(rz, kZero)
TORCHPORT_ROUNDED(ru, kUp)
TORCHPORT_ROUNDED(rd, kDown)
#undef TORCHPORT_ROUNDED
__forceinline__ double __dadd_rn(double x, double y) {
  return torchport::unfused(torchport::unfused(x) + torchport::unfused(y));
}
__forceinline__ double __dsub_rn(double x, double y) {
  return torchport::unfused(torchport::unfused(x) - torchport::unfused(y));
}
__forceinline__ double __dmul_rn(double x, double y) {
  return torchport::unfused(x * y);
}
__forceinline__ double __ddiv_rn(double x, double y) {
  return x / y;
}
__forceinline__ double __drcp_rn(double x) {
  return 1.0 / x;
}
__forceinline__ double __dsqrt_rn(double x) {
  return __builtin_sqrt(x);
}
__forceinline__ double __fma_rn(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
__forceinline__ float __double2float_rn(double x) {
  return static_cast<float>(x);
}
