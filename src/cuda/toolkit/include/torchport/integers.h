// Integer intrinsics. Each is the plain arithmetic that the CUDA programming guide states.
#pragma once

#include "bits.h"

__forceinline__ int __clz(int x) {
  return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
__forceinline__ int __clzll(long long x) {
  return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
__forceinline__ int __ffs(int x) {
  return __builtin_ffs(x);
}
__forceinline__ int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
__forceinline__ int __popc(unsigned int x) {
  return __builtin_popcount(x);
}
__forceinline__ int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}

__forceinline__ unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
__forceinline__ unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
__forceinline__ unsigned short __nv_bswap16(unsigned short x) {
  return __builtin_bswap16(x);
}
__forceinline__ unsigned int __nv_bswap32(unsigned int x) {
  return __builtin_bswap32(x);
}
__forceinline__ unsigned long long __nv_bswap64(unsigned long long x) {
  return __builtin_bswap64(x);
}

// Bit 3 of a selector spreads the byte's sign in PTX's prmt, but __byte_perm looks at 3 bits only.
__forceinline__ unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int s) {
  unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned int r = 0;
  for (int i = 0; i < 4; ++i)
    r |= static_cast<unsigned>(both >> ((s >> (4 * i) & 7) * 8) & 255) << (8 * i);
  return r;
}

__forceinline__ unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int shift) {
  unsigned long long both = static_cast<unsigned long long>(hi) << 32 | lo;
  return static_cast<unsigned>(both << (shift & 31) >> 32);
}
__forceinline__ unsigned int __funnelshift_lc(unsigned int lo, unsigned int hi,
                                              unsigned int shift) {
  unsigned long long both = static_cast<unsigned long long>(hi) << 32 | lo;
  return static_cast<unsigned>(both << (shift < 32 ? shift : 32) >> 32);
}
__forceinline__ unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int shift) {
  unsigned long long both = static_cast<unsigned long long>(hi) << 32 | lo;
  return static_cast<unsigned>(both >> (shift & 31));
}
__forceinline__ unsigned int __funnelshift_rc(unsigned int lo, unsigned int hi,
                                              unsigned int shift) {
  unsigned long long both = static_cast<unsigned long long>(hi) << 32 | lo;
  return static_cast<unsigned>(both >> (shift < 32 ? shift : 32));
}

__forceinline__ int __mulhi(int x, int y) {
  return static_cast<int>(static_cast<long long>(x) * y >> 32);
}
__forceinline__ unsigned int __umulhi(unsigned int x, unsigned int y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
__extension__ typedef __int128 torchport_int128;
__extension__ typedef unsigned __int128 torchport_uint128;
__forceinline__ long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<torchport_int128>(x) * y >> 64);
}
__forceinline__ unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<torchport_uint128>(x) * y >> 64);
}
__forceinline__ unsigned int __umul24(unsigned int x, unsigned int y) {
  return (x & 0xffffffu) * (y & 0xffffffu);
}
__forceinline__ int __mul24(int x, int y) {
  long long a = static_cast<int>(static_cast<unsigned>(x) << 8) >> 8;
  long long b = static_cast<int>(static_cast<unsigned>(y) << 8) >> 8;
  return static_cast<int>(static_cast<unsigned long long>(a * b));
}
__forceinline__ int mul24(int x, int y) {
  return __mul24(x, y);
}
__forceinline__ unsigned int umul24(unsigned int x, unsigned int y) {
  return __umul24(x, y);
}
__forceinline__ int mulhi(int x, int y) {
  return __mulhi(x, y);
}
__forceinline__ unsigned int umulhi(unsigned int x, unsigned int y) {
  return __umulhi(x, y);
}
__forceinline__ unsigned int mulhi(unsigned int x, unsigned int y) {
  return __umulhi(x, y);
}
__forceinline__ long long mul64hi(long long x, long long y) {
  return __mul64hi(x, y);
}
__forceinline__ unsigned long long umul64hi(unsigned long long x, unsigned long long y) {
  return __umul64hi(x, y);
}

__forceinline__ unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) {
  return (x > y ? x - y : y - x) + z;
}
__forceinline__ unsigned int __sad(int x, int y, unsigned int z) {
  unsigned a = static_cast<unsigned>(x), b = static_cast<unsigned>(y);
  return (x > y ? a - b : b - a) + z;
}
__forceinline__ unsigned int sad(int x, int y, unsigned int z) {
  return __sad(x, y, z);
}
__forceinline__ unsigned int usad(unsigned int x, unsigned int y, unsigned int z) {
  return __usad(x, y, z);
}
// Averages, rounded down and up (r), whose sum does not overflow.
__forceinline__ int __hadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y) >> 1);
}
__forceinline__ int __rhadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1);
}
__forceinline__ unsigned int __uhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1);
}
__forceinline__ unsigned int __urhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}

// The n-th bit that is set (n > 0: upwards from base; n < 0: downwards; 0: base itself if it is
// set).
__forceinline__ unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  if (offset == 0) return mask >> (base & 31) & 1 ? (base & 31) : 0xffffffffu;
  int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
  for (int i = static_cast<int>(base & 31); i >= 0 && i < 32; i += step)
    if (mask >> i & 1 && --left == 0) return static_cast<unsigned>(i);
  return 0xffffffffu;
}

namespace torchport {

// Element i of a word, sign-extended if T is signed.
template <class T>
__forceinline__ int part(unsigned x, int i) {
  return static_cast<T>(x >> (i * static_cast<int>(8 * sizeof(T))));
}

template <class A, class B>
__forceinline__ unsigned dot4(unsigned x, unsigned y, unsigned sum) {
  for (int i = 0; i < 4; ++i) sum += static_cast<unsigned>(part<A>(x, i) * part<B>(y, i));
  return sum;
}
// Two 16-bit elements of x and two bytes of y from byte `at`.
template <class A, class B>
__forceinline__ unsigned dot2(unsigned x, unsigned y, unsigned sum, int at) {
  for (int i = 0; i < 2; ++i)
    sum += static_cast<unsigned>(part<A>(x, i)) * static_cast<unsigned>(part<B>(y, at + i));
  return sum;
}
template <class V>
__forceinline__ unsigned word(V v) {
  return bits<unsigned>(v);
}

}  // namespace torchport

__forceinline__ int __dp4a(int x, int y, int z) {
  return static_cast<int>(torchport::dot4<signed char, signed char>(
      static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)));
}
__forceinline__ unsigned int __dp4a(unsigned int x, unsigned int y, unsigned int z) {
  return torchport::dot4<unsigned char, unsigned char>(x, y, z);
}
__forceinline__ int __dp4a(char4 x, char4 y, int z) {
  return __dp4a(static_cast<int>(torchport::word(x)), static_cast<int>(torchport::word(y)), z);
}
__forceinline__ unsigned int __dp4a(uchar4 x, uchar4 y, unsigned int z) {
  return __dp4a(torchport::word(x), torchport::word(y), z);
}
#define TORCHPORT_DP2A(NAME, AT)                                                                \
  __forceinline__ int NAME(int x, int y, int z) {                                               \
    return static_cast<int>(torchport::dot2<short, signed char>(                                \
        static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z), AT));     \
  }                                                                                             \
  __forceinline__ unsigned int NAME(unsigned int x, unsigned int y, unsigned int z) {           \
    return torchport::dot2<unsigned short, unsigned char>(x, y, z, AT);                         \
  }                                                                                             \
  __forceinline__ int NAME(short2 x, char4 y, int z) {                                          \
    return NAME(static_cast<int>(torchport::word(x)), static_cast<int>(torchport::word(y)), z); \
  }                                                                                             \
  __forceinline__ unsigned int NAME(ushort2 x, uchar4 y, unsigned int z) {                      \
    return NAME(torchport::word(x), torchport::word(y), z);                                     \
  }
TORCHPORT_DP2A(__dp2a_lo, 0)
TORCHPORT_DP2A(__dp2a_hi, 2)
#undef TORCHPORT_DP2A
