// Arithmetic of PTX (PTX ISA, chapters on integer and floating point instructions). A function has
// the instruction's name; its type and its modifiers are template arguments, its operands are
// registers.
#pragma once

#include "fast.h"
#include "integers.h"
#include "min_max.h"
#include "ptx_types.h"
#include "words.h"

namespace torchport::ptx {

template <class T>
using Value = decltype(get<T>(0ull));
template <class T>
using Unsigned = std::make_unsigned_t<typename T::value>;
template <int kBits, bool kSigned>
using Integer = std::conditional_t<
    kBits == 8, std::conditional_t<kSigned, s8, u8>,
    std::conditional_t<kBits == 16, std::conditional_t<kSigned, s16, u16>,
                       std::conditional_t<kBits == 32, std::conditional_t<kSigned, s32, u32>,
                                          std::conditional_t<kSigned, s64, u64>>>>;
template <class T>
constexpr bool kIsSigned = std::is_signed_v<typename T::value>;
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
constexpr bool kIsPair = std::is_same_v<T, f16x2> || std::is_same_v<T, bf16x2>;

// What follows the operation: .ftz, .sat, .relu, .NaN.
struct After {
  bool flush = false, saturate = false, relu = false, nan = false, sign = false;
};
constexpr After kPlain{};

template <class V>
__forceinline__ V flush_if(bool flush, V x) {
  if constexpr (std::is_same_v<V, float>) return flush ? flushed(x) : x;
  return x;
}
template <class V>
__forceinline__ V finished(V x, const After& after) {
  if (after.saturate) x = x > V(0) ? (x < V(1) ? x : V(1)) : V(0);
  if (after.relu) x = x > V(0) || x != x ? x : V(0);
  return flush_if(after.flush, x);
}

// f of each half of registers.
template <class T, class F, class... R>
__forceinline__ unsigned each_half(F f, R... regs) {
  unsigned short low = 0, high = 0;
  set<typename T::part>(low, f(get<typename T::part>(static_cast<unsigned>(regs) & 0xffff)...));
  set<typename T::part>(high, f(get<typename T::part>(static_cast<unsigned>(regs) >> 16)...));
  return low | static_cast<unsigned>(high) << 16;
}

// ---- Sums and products ----
template <Round kR>
__forceinline__ float rounded_add(float a, float b) {
  return kR == Round::kNearest ? __fadd_rn(a, b) : sum_to_float<kR>(a, b);
}
template <Round kR>
__forceinline__ double rounded_add(double a, double b) {
  return kR == Round::kZero   ? __dadd_rz(a, b)
         : kR == Round::kUp   ? __dadd_ru(a, b)
         : kR == Round::kDown ? __dadd_rd(a, b)
                              : __dadd_rn(a, b);
}
template <Round kR>
__forceinline__ float rounded_mul(float a, float b) {
  return kR == Round::kNearest ? __fmul_rn(a, b) : to_float<kR>(static_cast<double>(a) * b);
}
template <Round kR>
__forceinline__ double rounded_mul(double a, double b) {
  return kR == Round::kZero   ? __dmul_rz(a, b)
         : kR == Round::kUp   ? __dmul_ru(a, b)
         : kR == Round::kDown ? __dmul_rd(a, b)
                              : __dmul_rn(a, b);
}
template <Round kR>
__forceinline__ float rounded_fma(float a, float b, float c) {
  return kR == Round::kNearest ? __builtin_fmaf(a, b, c) : fma_to_float<kR>(a, b, c);
}
template <Round kR>
__forceinline__ double rounded_fma(double a, double b, double c) {
  return kR == Round::kZero   ? __fma_rz(a, b, c)
         : kR == Round::kUp   ? __fma_ru(a, b, c)
         : kR == Round::kDown ? __fma_rd(a, b, c)
                              : __builtin_fma(a, b, c);
}

#define TORCHPORT_PTX_SUM(NAME, FLOAT, INTEGER)                                                    \
  template <class T, Round kR = Round::kNearest, class A, class B, class D>                        \
  __forceinline__ void NAME(D& d, A a, B b, const After& after = kPlain) {                         \
    if constexpr (kIsPair<T>) {                                                                    \
      set_bits(d, each_half<T>([&](float x, float y) { return finished(FLOAT, after); }, a, b));   \
    } else if constexpr (T::kFloat) {                                                              \
      auto x = flush_if(after.flush, get<T>(a)), y = flush_if(after.flush, get<T>(b));             \
      set<T>(d, finished(FLOAT, after));                                                           \
    } else {                                                                                       \
      using U = Unsigned<T>;                                                                       \
      U x = static_cast<U>(get<T>(a)), y = static_cast<U>(get<T>(b));                              \
      if (after.saturate) {                                                                        \
        long long s = static_cast<long long>(get<T>(a)) INTEGER static_cast<long long>(get<T>(b)); \
        set<T>(d, s > 2147483647ll    ? 2147483647                                                 \
                  : s < -2147483648ll ? -2147483647 - 1                                            \
                                      : static_cast<int>(s));                                      \
      } else {                                                                                     \
        set<T>(d, static_cast<U>(x INTEGER y));                                                    \
      }                                                                                            \
    }                                                                                              \
  }
TORCHPORT_PTX_SUM(add, (rounded_add<kR>(x, y)), +)
TORCHPORT_PTX_SUM(sub, (rounded_add<kR>(x, -y)), -)
#undef TORCHPORT_PTX_SUM

template <class T, Round kR = Round::kNearest, class A, class B, class D>
__forceinline__ void mul(D& d, A a, B b, const After& after = kPlain) {
  if constexpr (kIsPair<T>) {
    set_bits(d, each_half<T>([&](float x, float y) { return finished(x * y, after); }, a, b));
  } else {
    auto x = flush_if(after.flush, get<T>(a)), y = flush_if(after.flush, get<T>(b));
    set<T>(d, finished(rounded_mul<kR>(x, y), after));
  }
}
template <class T, Round kR = Round::kNearest, class A, class B, class C, class D>
__forceinline__ void fma(D& d, A a, B b, C c, const After& after = kPlain) {
  if constexpr (kIsPair<T>) {
    using P = typename T::part;
    unsigned short low = 0, high = 0;
    fma<P>(low, a & 0xffffu, b & 0xffffu, c & 0xffffu, after);
    fma<P>(high, a >> 16, b >> 16, c >> 16, after);
    set_bits(d, low | static_cast<unsigned>(high) << 16);
  } else if constexpr (kIsHalf<T>) {
    float x = T::small::widen(T::small::multiply_add(get<T>(a), get<T>(b), get<T>(c)));
    set<T>(d, finished(x, after));
  } else {
    auto x = flush_if(after.flush, get<T>(a)), y = flush_if(after.flush, get<T>(b)),
         z = flush_if(after.flush, get<T>(c));
    set<T>(d, finished(rounded_fma<kR>(x, y, z), after));
  }
}

// The product of integers in twice the bits.
template <class T, class A, class B>
__forceinline__ auto whole_product(A a, B b) {
  if constexpr (T::kBits == 64) {
    using W = std::conditional_t<kIsSigned<T>, torchport_int128, torchport_uint128>;
    return static_cast<W>(get<T>(a)) * static_cast<W>(get<T>(b));
  } else {
    using W = std::conditional_t<kIsSigned<T>, long long, unsigned long long>;
    return static_cast<W>(get<T>(a)) * static_cast<W>(get<T>(b));
  }
}
template <class T, class A, class B, class D>
__forceinline__ void mul_lo(D& d, A a, B b) {
  set<T>(d, static_cast<Unsigned<T>>(whole_product<T>(a, b)));
}
template <class T, class A, class B, class D>
__forceinline__ void mul_hi(D& d, A a, B b) {
  set<T>(d, static_cast<Unsigned<T>>(whole_product<T>(a, b) >> T::kBits));
}
template <class T, class A, class B, class D>
__forceinline__ void mul_wide(D& d, A a, B b) {
  set<Integer<2 * T::kBits, kIsSigned<T>>>(d, whole_product<T>(a, b));
}
template <class T, class A, class B, class C, class D>
__forceinline__ void mad_lo(D& d, A a, B b, C c) {
  using U = Unsigned<T>;
  set<T>(d, static_cast<U>(static_cast<U>(whole_product<T>(a, b)) + static_cast<U>(get<T>(c))));
}
template <class T, class A, class B, class C, class D>
__forceinline__ void mad_hi(D& d, A a, B b, C c, bool saturate = false) {
  using U = Unsigned<T>;
  auto high = static_cast<typename T::value>(whole_product<T>(a, b) >> T::kBits);
  if (saturate) return add<T>(d, high, c, After{false, true});
  set<T>(d, static_cast<U>(static_cast<U>(high) + static_cast<U>(get<T>(c))));
}
template <class T, class A, class B, class C, class D>
__forceinline__ void mad_wide(D& d, A a, B b, C c) {
  using W = Integer<2 * T::kBits, kIsSigned<T>>;
  using U = Unsigned<W>;
  set<W>(d, static_cast<U>(static_cast<U>(whole_product<T>(a, b)) + static_cast<U>(get<W>(c))));
}
template <class T, class A, class B, class D>
__forceinline__ void mul24(D& d, A a, B b, bool high) {
  long long x = get<T>(a) & 0xffffff, y = get<T>(b) & 0xffffff;
  if (kIsSigned<T>) x = (x ^ 0x800000) - 0x800000, y = (y ^ 0x800000) - 0x800000;
  set<T>(d, static_cast<Unsigned<T>>((x * y) >> (high ? 16 : 0)));
}

// ---- Sums with a carry ----
template <class T, class A, class B, class D>
__forceinline__ void add_carry(D& d, A a, B b, bool carry_in, bool& carry, bool keep) {
  using U = Unsigned<T>;
  torchport_uint128 s = static_cast<torchport_uint128>(static_cast<U>(get<T>(a))) +
                        static_cast<U>(get<T>(b)) + (carry_in ? 1u : 0u);
  if (keep) carry = (s >> T::kBits) != 0;
  set<T>(d, static_cast<U>(s));
}
template <class T, class A, class B, class D>
__forceinline__ void sub_carry(D& d, A a, B b, bool borrow_in, bool& borrow, bool keep) {
  using U = Unsigned<T>;
  torchport_uint128 s = static_cast<torchport_uint128>(static_cast<U>(get<T>(a))) -
                        static_cast<U>(get<T>(b)) - (borrow_in ? 1u : 0u);
  if (keep) borrow = (s >> T::kBits) != 0;
  set<T>(d, static_cast<U>(s));
}
template <class T, class A, class B, class C, class D>
__forceinline__ void mad_carry(D& d, A a, B b, C c, bool high, bool carry_in, bool& carry,
                               bool keep) {
  auto p = whole_product<T>(a, b);
  add_carry<T>(d, static_cast<Unsigned<T>>(high ? p >> T::kBits : p), c, carry_in, carry, keep);
}

// ---- Division; of integers by 0 all bits, as GPUs do ----
template <class T, class A, class B, class D>
__forceinline__ void div(D& d, A a, B b) {
  auto x = get<T>(a);
  auto y = get<T>(b);
  if constexpr (T::kFloat) {
    set<T>(d, x / y);
  } else if constexpr (kIsSigned<T>) {
    using U = Unsigned<T>;
    set<T>(d, y == 0    ? static_cast<typename T::value>(-1)
              : y == -1 ? static_cast<typename T::value>(U(0) - static_cast<U>(x))
                        : static_cast<typename T::value>(x / y));
  } else {
    set<T>(d,
           y == 0 ? static_cast<typename T::value>(~0ull) : static_cast<typename T::value>(x / y));
  }
}
template <class T, class A, class B, class D>
__forceinline__ void rem(D& d, A a, B b) {
  auto x = get<T>(a);
  auto y = get<T>(b);
  if constexpr (kIsSigned<T>) {
    set<T>(d, y == 0 ? x : y == -1 ? decltype(x)(0) : static_cast<decltype(x)>(x % y));
  } else {
    set<T>(d, y == 0 ? x : static_cast<decltype(x)>(x % y));
  }
}
template <class T, Round kR, class A, class B, class D>
__forceinline__ void div_rounded(D& d, A a, B b, const After& after = kPlain) {
  auto x = flush_if(after.flush, get<T>(a)), y = flush_if(after.flush, get<T>(b));
  if constexpr (std::is_same_v<T, f32>) {
    float q = kR == Round::kNearest ? plain_nan(x / y) : quotient_to_float<kR>(x, y);
    set<T>(d, finished(q, after));
  } else {
    set<T>(d, kR == Round::kZero   ? __ddiv_rz(x, y)
              : kR == Round::kUp   ? __ddiv_ru(x, y)
              : kR == Round::kDown ? __ddiv_rd(x, y)
                                   : x / y);
  }
}
template <class T, Round kR, class A, class D>
__forceinline__ void rcp(D& d, A a, const After& after = kPlain) {
  if constexpr (std::is_same_v<T, f32>)
    return div_rounded<T, kR>(d, 0x3f800000u, a, after);
  else
    return div_rounded<T, kR>(d, 0x3ff0000000000000ull, a, after);
}
template <class T, Round kR, class A, class D>
__forceinline__ void sqrt(D& d, A a, const After& after = kPlain) {
  auto x = flush_if(after.flush, get<T>(a));
  if constexpr (std::is_same_v<T, f32>) {
    set<T>(d, finished(kR == Round::kNearest ? plain_nan(__builtin_sqrtf(x)) : root_to_float<kR>(x),
                       after));
  } else {
    set<T>(d, kR == Round::kZero   ? __dsqrt_rz(x)
              : kR == Round::kUp   ? __dsqrt_ru(x)
              : kR == Round::kDown ? __dsqrt_rd(x)
                                   : __builtin_sqrt(x));
  }
}
template <class A, class B, class D>
__forceinline__ void div_approx(D& d, A a, B b, const After& after = kPlain) {
  set<f32>(d, finished(__fdividef(get<f32>(a), get<f32>(b)), after));
}

// Functions of one operand: ex2, lg2, ..., for floats and halves.
template <class T, class F, class A, class D>
__forceinline__ void approximate(D& d, A a, F f, const After& after = kPlain) {
  if constexpr (kIsPair<T>) {
    set_bits(d, each_half<T>([&](float x) { return f(x); }, a));
  } else {
    set<T>(d, finished(f(flush_if(after.flush, get<T>(a))), after));
  }
}
struct Exp2 {
  float operator()(float x) const { return approximate_exp2(x); }
};
struct Log2 {
  float operator()(float x) const { return approximate_log2(x); }
};
struct Sine {
  float operator()(float x) const { return approximate_sin(x); }
};
struct Cosine {
  float operator()(float x) const { return approximate_cos(x); }
};
struct Tanh {
  float operator()(float x) const { return approximate_tanh(x); }
};
struct Reciprocal {
  float operator()(float x) const { return approximate_reciprocal(x); }
  double operator()(double x) const { return 1.0 / x; }
};
struct Root {
  float operator()(float x) const { return approximate_sqrt(x); }
};
struct InverseRoot {
  float operator()(float x) const { return approximate_rsqrt(x); }
  double operator()(double x) const { return 1.0 / __builtin_sqrt(x); }
};

// ---- One operand ----
template <class T, class A, class D>
__forceinline__ void abs(D& d, A a, const After& after = kPlain) {
  if constexpr (kIsPair<T>) {
    set_bits(d, static_cast<unsigned>(a) & 0x7fff7fffu);
  } else if constexpr (kIsHalf<T>) {
    set_bits(d, static_cast<unsigned>(a) & 0x7fffu);
  } else if constexpr (T::kFloat) {
    set<T>(d, std::fabs(flush_if(after.flush, get<T>(a))));
  } else {
    auto x = get<T>(a);
    set<T>(d, x < 0 ? static_cast<Unsigned<T>>(0u - static_cast<Unsigned<T>>(x))
                    : static_cast<Unsigned<T>>(x));
  }
}
template <class T, class A, class D>
__forceinline__ void neg(D& d, A a, const After& after = kPlain) {
  if constexpr (kIsPair<T>) {
    set_bits(d, static_cast<unsigned>(a) ^ 0x80008000u);
  } else if constexpr (kIsHalf<T>) {
    set_bits(d, static_cast<unsigned>(a) ^ 0x8000u);
  } else if constexpr (T::kFloat) {
    set<T>(d, -flush_if(after.flush, get<T>(a)));
  } else {
    set<T>(d, static_cast<Unsigned<T>>(0u - static_cast<Unsigned<T>>(get<T>(a))));
  }
}
template <class T, class A, class B, class D>
__forceinline__ void copysign(D& d, A sign, B value) {
  set<T>(d, std::copysign(get<T>(value), get<T>(sign)));
}

// ---- min and max ----
template <class V>
__forceinline__ V chosen(V x, V y, bool largest, const After& after) {
  if constexpr (std::is_floating_point_v<V>) {
    if (after.nan && (x != x || y != y))
      return std::is_same_v<V, float> ? V(float_nan()) : V(double_nan());
    bool negative = signbit(x) != signbit(y);
    if (after.sign) x = std::fabs(x), y = std::fabs(y);
    V r = largest ? float_max(x, y) : float_min(x, y);
    if (after.sign) r = std::copysign(r, negative ? V(-1) : V(1));
    return r;
  } else {
    return (x > y) == largest ? x : y;
  }
}
template <class T, class A, class B, class D>
__forceinline__ void choose(D& d, A a, B b, bool largest, const After& after = kPlain) {
  if constexpr (kIsPair<T>) {
    set_bits(d, each_half<T>(
                    [&](float x, float y) { return finished(chosen(x, y, largest, after), after); },
                    a, b));
  } else if constexpr (T::kFloat) {
    set<T>(d, finished(chosen(flush_if(after.flush, get<T>(a)), flush_if(after.flush, get<T>(b)),
                              largest, after),
                       after));
  } else {
    auto r = chosen(get<T>(a), get<T>(b), largest, after);
    if (after.relu && r < 0) r = 0;
    set<T>(d, r);
  }
}
// Sums and differences of two 16-bit integers each.
template <bool kSigned, bool kDifference, class A, class B, class D>
__forceinline__ void sum_pair(D& d, A a, B b, const After& after = kPlain) {
  const unsigned x = a, y = b;
  unsigned r = kDifference ? __vsub2(x, y) : __vadd2(x, y);
  if (after.saturate && kSigned) r = kDifference ? __vsubss2(x, y) : __vaddss2(x, y);
  if (after.saturate && !kSigned) r = kDifference ? __vsubus2(x, y) : __vaddus2(x, y);
  set_bits(d, r);
}
// min and max of two 16-bit integers each.
template <bool kSigned, class A, class B, class D>
__forceinline__ void choose_pair(D& d, A a, B b, bool largest, const After& after = kPlain) {
  unsigned r = kSigned ? (largest ? __vmaxs2(a, b) : __vmins2(a, b))
                       : (largest ? __vmaxu2(a, b) : __vminu2(a, b));
  if (after.relu) r = __vmaxs2(r, 0);
  set_bits(d, r);
}

}  // namespace torchport::ptx
