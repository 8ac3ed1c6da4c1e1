// Arithmetic on the 2 halves or the 4 bytes of a word (__vadd4 and the like), and the three-operand
// minima and maxima of Hopper (__viaddmax, __vimax3, __vibmax).
#pragma once

#include "integers.h"

namespace torchport {

// f of each element of the operands as an int (T says how wide an element is, and whether signed);
// of its results the low bits.
template <class T, class F, class... Words>
__forceinline__ unsigned each(F f, Words... words) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  constexpr unsigned kMask = (1u << kBits) - 1;
  unsigned r = 0;
  for (int i = 0; i < 32 / kBits; ++i)
    r |= (static_cast<unsigned>(f(part<T>(words, i)...)) & kMask) << (i * kBits);
  return r;
}

template <class T>
__forceinline__ int clamp_to(int x) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  constexpr int kLow = static_cast<T>(-1) < 0 ? -(1 << (kBits - 1)) : 0;
  constexpr int kHigh = static_cast<T>(-1) < 0 ? (1 << (kBits - 1)) - 1 : (1 << kBits) - 1;
  return x < kLow ? kLow : x > kHigh ? kHigh : x;
}

__forceinline__ int int_max(int a, int b) {
  return a > b ? a : b;
}
__forceinline__ int int_min(int a, int b) {
  return a < b ? a : b;
}

}  // namespace torchport

#define TORCHPORT_WORD1(NAME, T, ...)                                \
  __forceinline__ unsigned int NAME(unsigned int a) {                \
    return torchport::each<T>([](int x) { return __VA_ARGS__; }, a); \
  }
#define TORCHPORT_WORD2(NAME, T, ...)                                          \
  __forceinline__ unsigned int NAME(unsigned int a, unsigned int b) {          \
    return torchport::each<T>([](int x, int y) { return __VA_ARGS__; }, a, b); \
  }
#define TORCHPORT_BOTH1(NAME, SIGN, ...)            \
  TORCHPORT_WORD1(NAME##2, SIGN short, __VA_ARGS__) \
  TORCHPORT_WORD1(NAME##4, SIGN char, __VA_ARGS__)
#define TORCHPORT_BOTH2(NAME, SIGN, ...)            \
  TORCHPORT_WORD2(NAME##2, SIGN short, __VA_ARGS__) \
  TORCHPORT_WORD2(NAME##4, SIGN char, __VA_ARGS__)

TORCHPORT_BOTH1(__vabs, signed, x < 0 ? -x : x)
TORCHPORT_WORD1(__vabsss2, short, torchport::clamp_to<short>(x < 0 ? -x : x))
TORCHPORT_WORD1(__vabsss4, signed char, torchport::clamp_to<signed char>(x < 0 ? -x : x))
TORCHPORT_BOTH1(__vneg, signed, -x)
TORCHPORT_WORD1(__vnegss2, short, torchport::clamp_to<short>(-x))
TORCHPORT_WORD1(__vnegss4, signed char, torchport::clamp_to<signed char>(-x))
TORCHPORT_BOTH2(__vadd, unsigned, x + y)
TORCHPORT_BOTH2(__vsub, unsigned, x - y)
TORCHPORT_WORD2(__vaddss2, short, torchport::clamp_to<short>(x + y))
TORCHPORT_WORD2(__vaddss4, signed char, torchport::clamp_to<signed char>(x + y))
TORCHPORT_WORD2(__vaddus2, unsigned short, torchport::clamp_to<unsigned short>(x + y))
TORCHPORT_WORD2(__vaddus4, unsigned char, torchport::clamp_to<unsigned char>(x + y))
TORCHPORT_WORD2(__vsubss2, short, torchport::clamp_to<short>(x - y))
TORCHPORT_WORD2(__vsubss4, signed char, torchport::clamp_to<signed char>(x - y))
TORCHPORT_WORD2(__vsubus2, unsigned short, torchport::clamp_to<unsigned short>(x - y))
TORCHPORT_WORD2(__vsubus4, unsigned char, torchport::clamp_to<unsigned char>(x - y))
TORCHPORT_BOTH2(__vabsdiffs, signed, x > y ? x - y : y - x)
TORCHPORT_BOTH2(__vabsdiffu, unsigned, x > y ? x - y : y - x)
// Halves go away from zero.
TORCHPORT_BOTH2(__vavgs, signed, (x + y + (x + y >= 0)) >> 1)
TORCHPORT_BOTH2(__vavgu, unsigned, (x + y + 1) >> 1)
TORCHPORT_BOTH2(__vhaddu, unsigned, (x + y) >> 1)
TORCHPORT_BOTH2(__vmaxs, signed, x > y ? x : y)
TORCHPORT_BOTH2(__vmaxu, unsigned, x > y ? x : y)
TORCHPORT_BOTH2(__vmins, signed, x < y ? x : y)
TORCHPORT_BOTH2(__vminu, unsigned, x < y ? x : y)

// Comparisons: all bits of an element (vcmp), or 1 (vset).
#define TORCHPORT_COMPARE(SUFFIX, SIGN, OP)              \
  TORCHPORT_BOTH2(__vcmp##SUFFIX, SIGN, x OP y ? -1 : 0) \
  TORCHPORT_BOTH2(__vset##SUFFIX, SIGN, x OP y ? 1 : 0)
TORCHPORT_COMPARE(eq, unsigned, ==)
TORCHPORT_COMPARE(ne, unsigned, !=)
TORCHPORT_COMPARE(ges, signed, >=)
TORCHPORT_COMPARE(geu, unsigned, >=)
TORCHPORT_COMPARE(gts, signed, >)
TORCHPORT_COMPARE(gtu, unsigned, >)
TORCHPORT_COMPARE(les, signed, <=)
TORCHPORT_COMPARE(leu, unsigned, <=)
TORCHPORT_COMPARE(lts, signed, <)
TORCHPORT_COMPARE(ltu, unsigned, <)
#undef TORCHPORT_COMPARE

// The sum of all elements' differences.
#define TORCHPORT_SAD(NAME, T)                                        \
  __forceinline__ unsigned int NAME(unsigned int a, unsigned int b) { \
    unsigned sum = 0;                                                 \
    for (int i = 0; i < 4 / static_cast<int>(sizeof(T)); ++i) {       \
      int x = torchport::part<T>(a, i), y = torchport::part<T>(b, i); \
      sum += static_cast<unsigned>(x > y ? x - y : y - x);            \
    }                                                                 \
    return sum;                                                       \
  }
TORCHPORT_SAD(__vsads2, short)
TORCHPORT_SAD(__vsads4, signed char)
TORCHPORT_SAD(__vsadu2, unsigned short)
TORCHPORT_SAD(__vsadu4, unsigned char)
#undef TORCHPORT_SAD
#undef TORCHPORT_WORD1
#undef TORCHPORT_WORD2
#undef TORCHPORT_BOTH1
#undef TORCHPORT_BOTH2

// max or min of a sum that wraps and a third operand, and of three operands; _relu: not below 0.
#define TORCHPORT_HOPPER(WHICH, OP)                                                              \
  __forceinline__ int __viadd##WHICH##_s32(int a, int b, int c) {                                \
    int s = static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));               \
    return s OP c ? s : c;                                                                       \
  }                                                                                              \
  __forceinline__ int __viadd##WHICH##_s32_relu(int a, int b, int c) {                           \
    return torchport::int_max(__viadd##WHICH##_s32(a, b, c), 0);                                 \
  }                                                                                              \
  __forceinline__ unsigned int __viadd##WHICH##_u32(unsigned int a, unsigned int b,              \
                                                    unsigned int c) {                            \
    return a + b OP c ? a + b : c;                                                               \
  }                                                                                              \
  __forceinline__ unsigned int __viadd##WHICH##_s16x2(unsigned int a, unsigned int b,            \
                                                      unsigned int c) {                          \
    return torchport::each<short>(                                                               \
        [](int x, int y, int z) {                                                                \
          int s = static_cast<short>(x + y);                                                     \
          return s OP z ? s : z;                                                                 \
        },                                                                                       \
        a, b, c);                                                                                \
  }                                                                                              \
  __forceinline__ unsigned int __viadd##WHICH##_s16x2_relu(unsigned int a, unsigned int b,       \
                                                           unsigned int c) {                     \
    return __vmaxs2(__viadd##WHICH##_s16x2(a, b, c), 0);                                         \
  }                                                                                              \
  __forceinline__ unsigned int __viadd##WHICH##_u16x2(unsigned int a, unsigned int b,            \
                                                      unsigned int c) {                          \
    return torchport::each<unsigned short>(                                                      \
        [](int x, int y, int z) {                                                                \
          int s = static_cast<unsigned short>(x + y);                                            \
          return s OP z ? s : z;                                                                 \
        },                                                                                       \
        a, b, c);                                                                                \
  }                                                                                              \
  __forceinline__ int __vi##WHICH##_s32_relu(int a, int b) {                                     \
    return torchport::int_max(a OP b ? a : b, 0);                                                \
  }                                                                                              \
  __forceinline__ unsigned int __vi##WHICH##_s16x2_relu(unsigned int a, unsigned int b) {        \
    return __vmaxs2(__v##WHICH##s2(a, b), 0);                                                    \
  }                                                                                              \
  __forceinline__ int __vi##WHICH##3_s32(int a, int b, int c) {                                  \
    return torchport::int_##WHICH(torchport::int_##WHICH(a, b), c);                              \
  }                                                                                              \
  __forceinline__ int __vi##WHICH##3_s32_relu(int a, int b, int c) {                             \
    return torchport::int_max(__vi##WHICH##3_s32(a, b, c), 0);                                   \
  }                                                                                              \
  __forceinline__ unsigned int __vi##WHICH##3_u32(unsigned int a, unsigned int b,                \
                                                  unsigned int c) {                              \
    unsigned int d = a OP b ? a : b;                                                             \
    return d OP c ? d : c;                                                                       \
  }                                                                                              \
  __forceinline__ unsigned int __vi##WHICH##3_s16x2(unsigned int a, unsigned int b,              \
                                                    unsigned int c) {                            \
    return __v##WHICH##s2(__v##WHICH##s2(a, b), c);                                              \
  }                                                                                              \
  __forceinline__ unsigned int __vi##WHICH##3_s16x2_relu(unsigned int a, unsigned int b,         \
                                                         unsigned int c) {                       \
    return __vmaxs2(__vi##WHICH##3_s16x2(a, b, c), 0);                                           \
  }                                                                                              \
  __forceinline__ unsigned int __vi##WHICH##3_u16x2(unsigned int a, unsigned int b,              \
                                                    unsigned int c) {                            \
    return __v##WHICH##u2(__v##WHICH##u2(a, b), c);                                              \
  }                                                                                              \
  /* The predicate: whether the first operand was taken. */                                      \
  __forceinline__ int __vib##WHICH##_s32(int a, int b, bool* first) {                            \
    *first = a OP## = b;                                                                         \
    return *first ? a : b;                                                                       \
  }                                                                                              \
  __forceinline__ unsigned int __vib##WHICH##_u32(unsigned int a, unsigned int b, bool* first) { \
    *first = a OP## = b;                                                                         \
    return *first ? a : b;                                                                       \
  }                                                                                              \
  __forceinline__ unsigned int __vib##WHICH##_s16x2(unsigned int a, unsigned int b, bool* high,  \
                                                    bool* low) {                                 \
    *low = torchport::part<short>(a, 0) OP## = torchport::part<short>(b, 0);                     \
    *high = torchport::part<short>(a, 1) OP## = torchport::part<short>(b, 1);                    \
    return __v##WHICH##s2(a, b);                                                                 \
  }                                                                                              \
  __forceinline__ unsigned int __vib##WHICH##_u16x2(unsigned int a, unsigned int b, bool* high,  \
                                                    bool* low) {                                 \
    *low = torchport::part<unsigned short>(a, 0) OP## = torchport::part<unsigned short>(b, 0);   \
    *high = torchport::part<unsigned short>(a, 1) OP## = torchport::part<unsigned short>(b, 1);  \
    return __v##WHICH##u2(a, b);                                                                 \
  }
TORCHPORT_HOPPER(max, >)
TORCHPORT_HOPPER(min, <)
#undef TORCHPORT_HOPPER
