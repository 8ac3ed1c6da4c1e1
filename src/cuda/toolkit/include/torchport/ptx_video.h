// Video instructions of PTX: scalar ones on whole registers, and those on four bytes or two halves.
#pragma once

#include "ptx_bits.h"

namespace torchport::ptx {

enum class Video { kAdd, kSub, kAbsDiff, kMin, kMax, kAverage, kShl, kShr };
__forceinline__ long long video(Video op, long long x, long long y, bool clamp) {
  switch (op) {
    case Video::kAdd:
      return x + y;
    case Video::kSub:
      return x - y;
    case Video::kAbsDiff:
      return x > y ? x - y : y - x;
    case Video::kMin:
      return x < y ? x : y;
    case Video::kMax:
      return x > y ? x : y;
    case Video::kAverage:
      return (x + y + 1) >> 1;
    case Video::kShl:
    case Video::kShr: {
      unsigned long long n = static_cast<unsigned long long>(y);
      n = clamp ? (n > 32 ? 32 : n) : n & 31;
      return op == Video::kShl ? static_cast<long long>(
                                     static_cast<unsigned>(static_cast<unsigned long long>(x) << n))
                               : x >> n;
    }
  }
  return 0;
}
enum class Second { kNone, kAdd, kMin, kMax };
template <class TD, class TA, class TB, class A, class B, class C, class D>
__forceinline__ void vscalar(D& d, A a, B b, C c, Video op, bool saturate, bool clamp,
                             Second second) {
  long long r = video(op, get<TA>(a), get<TB>(b), clamp);
  if (saturate) {
    constexpr long long kLow = kIsSigned<TD> ? -2147483648ll : 0,
                        kHigh = kIsSigned<TD> ? 2147483647ll : 4294967295ll;
    r = r < kLow ? kLow : r > kHigh ? kHigh : r;
  }
  auto v = static_cast<typename TD::value>(r);
  auto z = static_cast<typename TD::value>(c);
  if (second == Second::kAdd)
    set_bits(d, static_cast<unsigned>(v) + static_cast<unsigned>(z));
  else if (second == Second::kMin)
    set_bits(d, v < z ? v : z);
  else if (second == Second::kMax)
    set_bits(d, v > z ? v : z);
  else
    set_bits(d, v);
}
// Elements of kBits bits; added up: one sum into c.
template <int kBits, bool kSignedD, bool kSignedA, bool kSignedB, class A, class B, class C,
          class D>
__forceinline__ void vparts(D& d, A a, B b, C c, Video op, bool saturate, bool sum) {
  using EA = typename Integer<kBits, kSignedA>::value;
  using EB = typename Integer<kBits, kSignedB>::value;
  using ED = typename Integer<kBits, kSignedD>::value;
  unsigned r = 0, total = static_cast<unsigned>(c);
  for (int i = 0; i < 32 / kBits; ++i) {
    int v = static_cast<int>(video(op, part<EA>(static_cast<unsigned>(a), i),
                                   part<EB>(static_cast<unsigned>(b), i), true));
    if (saturate) v = clamp_to<ED>(v);
    total += static_cast<unsigned>(static_cast<ED>(v));
    r |= (static_cast<unsigned>(v) & ((1u << kBits) - 1)) << (i * kBits);
  }
  set_bits(d, sum ? total : r);
}
template <int kBits, bool kSignedA, bool kSignedB, class A, class B, class C, class D>
__forceinline__ void vset(D& d, A a, B b, C c, Compare how, bool sum) {
  using EA = typename Integer<kBits, kSignedA>::value;
  using EB = typename Integer<kBits, kSignedB>::value;
  unsigned r = 0, total = static_cast<unsigned>(c);
  for (int i = 0; i < 32 / kBits; ++i) {
    unsigned is = compare(how, static_cast<int>(part<EA>(static_cast<unsigned>(a), i)),
                          static_cast<int>(part<EB>(static_cast<unsigned>(b), i)));
    total += is;
    r |= is << (i * kBits);
  }
  set_bits(d, sum ? total : r);
}

}  // namespace torchport::ptx
