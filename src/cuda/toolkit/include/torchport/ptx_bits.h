// PTX instructions that compare, and those on bits.
#pragma once

#include "ptx_arithmetic.h"

namespace torchport::ptx {

// ---- Comparisons ----
enum class Compare { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
template <class V>
__forceinline__ bool compare(Compare how, V x, V y) {
  bool unordered = x != x || y != y;
  switch (how) {
    case Compare::eq:
      return x == y;
    case Compare::ne:
      return x != y && !unordered;
    case Compare::lt:
      return x < y;
    case Compare::le:
      return x <= y;
    case Compare::gt:
      return x > y;
    case Compare::ge:
      return x >= y;
    case Compare::equ:
      return x == y || unordered;
    case Compare::neu:
      return x != y || unordered;
    case Compare::ltu:
      return x < y || unordered;
    case Compare::leu:
      return x <= y || unordered;
    case Compare::gtu:
      return x > y || unordered;
    case Compare::geu:
      return x >= y || unordered;
    case Compare::num:
      return !unordered;
    case Compare::nan:
      return unordered;
  }
  return false;
}
template <class T, class A, class B>
__forceinline__ bool compare(Compare how, A a, B b, bool flush) {
  return compare(how, flush_if(flush, get<T>(a)), flush_if(flush, get<T>(b)));
}
template <class T, class D>
__forceinline__ void set_flag(D& d, bool is) {
  if constexpr (T::kFloat)
    set<T>(d, is ? 1.0f : 0.0f);
  else
    set_bits(d, is ? ~0u : 0u);
}
template <class T, class A, class B, class D>
__forceinline__ void select(D& d, A a, B b, bool first) {
  set_bits(d, first ? static_cast<Raw<T::kBits>>(a) : static_cast<Raw<T::kBits>>(b));
}

// ---- Bits ----
template <class T, class A, class B, class D>
__forceinline__ void shl(D& d, A a, B by) {
  unsigned long long n = static_cast<unsigned>(by);
  set_bits(d, n >= T::kBits ? 0 : static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) << n));
}
template <class T, class A, class B, class D>
__forceinline__ void shr(D& d, A a, B by) {
  unsigned n = static_cast<unsigned>(by);
  if (kIsSigned<T>) n = n >= T::kBits ? T::kBits - 1 : n;
  set<T>(d, n >= T::kBits ? 0 : static_cast<typename T::value>(get<T>(a) >> n));
}
template <class T, class A, class D>
__forceinline__ void clz(D& d, A a) {
  if constexpr (T::kBits == 64)
    set_bits(d, __clzll(static_cast<long long>(a)));
  else
    set_bits(d, __clz(static_cast<int>(a)));
}
template <class T, class A, class D>
__forceinline__ void popc(D& d, A a) {
  if constexpr (T::kBits == 64)
    set_bits(d, __popcll(a));
  else
    set_bits(d, __popc(static_cast<unsigned>(a)));
}
template <class T, class A, class D>
__forceinline__ void brev(D& d, A a) {
  if constexpr (T::kBits == 64)
    set_bits(d, __brevll(a));
  else
    set_bits(d, __brev(static_cast<unsigned>(a)));
}
template <class T, class A, class D>
__forceinline__ void bfind(D& d, A a, bool shift_amount) {
  unsigned long long x = static_cast<unsigned long long>(static_cast<long long>(get<T>(a)));
  if (kIsSigned<T> && get<T>(a) < 0) x = ~x;
  if constexpr (T::kBits == 32) x &= 0xffffffffu;
  unsigned at = x ? 63u - static_cast<unsigned>(__builtin_clzll(x)) : 0xffffffffu;
  set_bits(d, shift_amount && at != 0xffffffffu ? T::kBits - 1 - at : at);
}
template <class T, class A, class B, class C, class D>
__forceinline__ void bfe(D& d, A a, B from, C count) {
  unsigned at = static_cast<unsigned>(from) & 255, n = static_cast<unsigned>(count) & 255;
  using U = Unsigned<T>;
  U x = static_cast<U>(a);
  unsigned last = at + n < static_cast<unsigned>(T::kBits) + 1 ? at + n - 1 : T::kBits - 1;
  bool negative = kIsSigned<T> && n != 0 && (x >> (last < T::kBits - 1u ? last : T::kBits - 1) & 1);
  U part = at < static_cast<unsigned>(T::kBits) ? static_cast<U>(x >> at) : U(0);
  U mask =
      n < static_cast<unsigned>(T::kBits) ? static_cast<U>((U(1) << n) - 1) : static_cast<U>(~U(0));
  part &= mask;
  if (negative) {
    unsigned kept = at < static_cast<unsigned>(T::kBits) ? T::kBits - at : 0;
    if (n < kept) kept = n;
    if (kept < static_cast<unsigned>(T::kBits)) part |= static_cast<U>(~U(0) << kept);
  }
  set_bits(d, part);
}
template <class T, class A, class B, class C, class E, class D>
__forceinline__ void bfi(D& d, A a, B b, C from, E count) {
  unsigned at = static_cast<unsigned>(from) & 255, n = static_cast<unsigned>(count) & 255;
  using U = Unsigned<T>;
  U mask =
      n < static_cast<unsigned>(T::kBits) ? static_cast<U>((U(1) << n) - 1) : static_cast<U>(~U(0));
  if (at >= static_cast<unsigned>(T::kBits)) return set_bits(d, b);
  mask = static_cast<U>(mask << at);
  set_bits(d, (static_cast<U>(b) & ~mask) | (static_cast<U>(static_cast<U>(a) << at) & mask));
}
template <class A, class B, class D>
__forceinline__ void bmsk(D& d, A from, B count, bool wrap) {
  unsigned at = static_cast<unsigned>(from), n = static_cast<unsigned>(count);
  if (wrap) at &= 31, n &= 31;
  unsigned mask = n >= 32 ? ~0u : (1u << n) - 1;
  set_bits(d, at >= 32 ? 0u : mask << at);
}
template <class T, class A, class B, class D>
__forceinline__ void szext(D& d, A a, B count, bool wrap) {
  unsigned n = static_cast<unsigned>(count), x = static_cast<unsigned>(a);
  if (wrap) n &= 31;
  if (n >= 32) return set_bits(d, x);
  if (n == 0) return set_bits(d, 0u);
  x &= (1u << n) - 1;
  if (kIsSigned<T> && x >> (n - 1) & 1) x |= ~((1u << n) - 1);
  set_bits(d, x);
}
template <class A, class B, class C, class D>
__forceinline__ void lop3(D& d, A a, B b, C c, unsigned table) {
  unsigned r = 0, x = static_cast<unsigned>(a), y = static_cast<unsigned>(b),
           z = static_cast<unsigned>(c);
  if (table & 0x01) r |= ~x & ~y & ~z;
  if (table & 0x02) r |= ~x & ~y & z;
  if (table & 0x04) r |= ~x & y & ~z;
  if (table & 0x08) r |= ~x & y & z;
  if (table & 0x10) r |= x & ~y & ~z;
  if (table & 0x20) r |= x & ~y & z;
  if (table & 0x40) r |= x & y & ~z;
  if (table & 0x80) r |= x & y & z;
  set_bits(d, r);
}
enum class Permute { kBytes, f4e, b4e, rc8, ecl, ecr, rc16 };
template <class A, class B, class C, class D>
__forceinline__ void prmt(D& d, A a, B b, C c, Permute how) {
  unsigned s = static_cast<unsigned>(c), i = s & 3, selector = s & 0xffff;
  if (how != Permute::kBytes) {
    selector = 0;
    for (unsigned k = 0; k < 4; ++k) {
      unsigned from = 0;
      switch (how) {
        case Permute::f4e:
          from = i + k;
          break;
        case Permute::b4e:
          from = (i - k) & 7;
          break;
        case Permute::rc8:
          from = i;
          break;
        case Permute::ecl:
          from = k > i ? k : i;
          break;
        case Permute::ecr:
          from = k < i ? k : i;
          break;
        default:
          from = (i & 1) * 2 + (k & 1);
          break;
      }
      selector |= from << (4 * k);
    }
  }
  unsigned long long both =
      static_cast<unsigned long long>(static_cast<unsigned>(b)) << 32 | static_cast<unsigned>(a);
  unsigned r = 0;
  for (unsigned k = 0; k < 4; ++k) {
    unsigned one = selector >> (4 * k), byte = static_cast<unsigned>(both >> ((one & 7) * 8)) & 255;
    if (one & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << (8 * k);
  }
  set_bits(d, r);
}
template <class A, class B, class C, class D>
__forceinline__ void shf(D& d, A a, B b, C c, bool left, bool wrap) {
  unsigned lo = static_cast<unsigned>(a), hi = static_cast<unsigned>(b),
           n = static_cast<unsigned>(c);
  set_bits(d, left ? (wrap ? __funnelshift_l(lo, hi, n) : __funnelshift_lc(lo, hi, n))
                   : (wrap ? __funnelshift_r(lo, hi, n) : __funnelshift_rc(lo, hi, n)));
}
template <class T, class A, class B, class C, class D>
__forceinline__ void sad(D& d, A a, B b, C c) {
  using U = Unsigned<T>;
  auto x = get<T>(a), y = get<T>(b);
  U difference = x > y ? static_cast<U>(static_cast<U>(x) - static_cast<U>(y))
                       : static_cast<U>(static_cast<U>(y) - static_cast<U>(x));
  set_bits(d, static_cast<U>(difference + static_cast<U>(c)));
}
// dp4a and dp2a: each side has its own signs.
template <class TA, class TB, class A, class B, class C, class D>
__forceinline__ void dp4a(D& d, A a, B b, C c) {
  set_bits(d, dot4<std::conditional_t<kIsSigned<TA>, signed char, unsigned char>,
                   std::conditional_t<kIsSigned<TB>, signed char, unsigned char>>(
                  static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<unsigned>(c)));
}
template <class TA, class TB, class A, class B, class C, class D>
__forceinline__ void dp2a(D& d, A a, B b, C c, bool high) {
  set_bits(d, dot2<std::conditional_t<kIsSigned<TA>, short, unsigned short>,
                   std::conditional_t<kIsSigned<TB>, signed char, unsigned char>>(
                  static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<unsigned>(c),
                  high ? 2 : 0));
}

}  // namespace torchport::ptx
