// cvt of PTX between integers, floats, halves and floats of 8 bits.
#pragma once

#include "ptx_arithmetic.h"

namespace torchport::ptx {

template <class TD, Round kR>
__forceinline__ void set_rounded(unsigned short& d, double x) {
  d = TD::small::narrow_to(x, kR);
}

// kWhole: to a whole number in the direction kR (.rni and so on).
template <class TD, class TS, Round kR, bool kWhole, class D, class A>
__forceinline__ void cvt(D& d, A a, const After& after = kPlain) {
  auto x = flush_if(after.flush, get<TS>(a));
  if constexpr (!TS::kFloat && !TD::kFloat) {
    if (after.saturate) {
      using W = torchport_int128;
      const auto low = std::is_signed_v<typename TD::value> ? -(W(1) << (TD::kBits - 1)) : W(0);
      const auto high = std::is_signed_v<typename TD::value> ? (W(1) << (TD::kBits - 1)) - 1
                                                             : (W(1) << TD::kBits) - 1;
      W w = x;
      set<TD>(d, static_cast<typename TD::value>(w < low ? low : w > high ? high : w));
    } else {
      set<TD>(d, static_cast<typename TD::value>(x));
    }
  } else if constexpr (!TD::kFloat) {
    using V = typename TD::value;
    // As an H100 answers for a NaN: 0, and in 64 bits and of double the number with the first bit.
    constexpr bool kFirst = TD::kBits == 64 || (std::is_same_v<TS, f64> && TD::kBits == 32);
    set<TD>(d, to_integer<V, kR>(x, kFirst ? static_cast<V>(V(1) << (TD::kBits - 1)) : V(0)));
  } else if constexpr (!TS::kFloat) {
    if constexpr (kIsHalf<TD>) {
      set_bits(d, TD::small::narrow_to(odd_double(x), kR));
    } else if constexpr (std::is_same_v<TD, f64>) {
      set<TD>(d, integer_to_double<kR>(x));
    } else {
      set<TD>(d, finished(integer_to_float<kR>(x), after));
    }
  } else if constexpr (kWhole) {
    set<TD>(d, finished(whole<kR>(x), after));
  } else if constexpr (kIsHalf<TD>) {
    if (x != x && !after.saturate) return set_bits(d, 0x7fff);
    set_bits(d, TD::small::narrow_to(finished(x, after), kR));
  } else if constexpr (std::is_same_v<TD, f32> && std::is_same_v<TS, f64>) {
    set<TD>(d, finished(x == x ? to_float<kR>(x) : static_cast<float>(x), after));
  } else {
    set<TD>(d, finished(static_cast<typename TD::value>(x), after));
  }
}

// Float with 10 bits behind the point: to nearest even, or with ties away (rna).
template <Round kR, class D, class A>
__forceinline__ void cvt_tf32(D& d, A a, bool ties_away, const After& after = kPlain) {
  unsigned b = static_cast<unsigned>(a);
  if ((b & 0x7f800000u) != 0x7f800000u) {
    if (ties_away)
      b += 0x1000;
    else if (kR == Round::kNearest)
      b += 0xfff + (b >> 13 & 1);
    b &= ~0x1fffu;
  } else if (b & 0x7fffffu) {
    b = 0x7fffffffu;
  }
  if (after.relu && b >> 31) b = 0;
  set_bits(d, b);
}

// Two floats to a pair: the first one becomes the upper half.
template <class TD, Round kR, class D, class A, class B>
__forceinline__ void cvt_pair(D& d, A a, B b, const After& after = kPlain) {
  unsigned short high = 0, low = 0;
  cvt<typename TD::part, f32, kR, false>(high, a, after);
  cvt<typename TD::part, f32, kR, false>(low, b, after);
  set_bits(d, static_cast<unsigned>(high) << 16 | low);
}

struct e4m3 {
  static unsigned narrow(float x) { return narrow_small<4, 3, 0x7e, 0x7f>(x, Round::kNearest); }
  static float widen(unsigned b) { return (b & 0x7f) == 0x7f ? float_nan() : widen_small<4, 3>(b); }
};
struct e5m2 {
  static unsigned narrow(float x) { return narrow_small<5, 2, 0x7b, 0x7f>(x, Round::kNearest); }
  static float widen(unsigned b) { return HalfBits::widen(static_cast<unsigned short>(b << 8)); }
};
template <class E, class D, class A, class B>
__forceinline__ void cvt_to_eights(D& d, A a, B b, const After& after = kPlain) {
  set_bits(d,
           E::narrow(finished(get<f32>(a), after)) << 8 | E::narrow(finished(get<f32>(b), after)));
}
template <class E, class TS, class D, class A>
__forceinline__ void cvt_pair_to_eights(D& d, A a, const After& after = kPlain) {
  using P = typename TS::part;
  set_bits(d, E::narrow(finished(get<P>(static_cast<unsigned>(a) >> 16), after)) << 8 |
                  E::narrow(finished(get<P>(static_cast<unsigned>(a) & 0xffff), after)));
}
template <class TD, class E, class D, class A>
__forceinline__ void cvt_from_eights(D& d, A a, const After& after = kPlain) {
  using P = typename TD::part;
  unsigned short low = 0, high = 0;
  set<P>(low, finished(E::widen(static_cast<unsigned>(a) & 255), after));
  set<P>(high, finished(E::widen(static_cast<unsigned>(a) >> 8 & 255), after));
  set_bits(d, static_cast<unsigned>(high) << 16 | low);
}

// cvt.pack.sat: a and b as TD, b below a, and c above both.
template <class TD, class TS, class D, class A, class B, class C>
__forceinline__ void cvt_pack(D& d, A a, B b, C c) {
  Raw<TD::kBits> x = 0, y = 0;
  cvt<TD, TS, Round::kZero, false>(x, a, After{false, true});
  cvt<TD, TS, Round::kZero, false>(y, b, After{false, true});
  unsigned r = static_cast<unsigned>(x) << TD::kBits | y;
  if constexpr (TD::kBits < 16) r |= static_cast<unsigned>(c) << (2 * TD::kBits);
  set_bits(d, r);
}

}  // namespace torchport::ptx
