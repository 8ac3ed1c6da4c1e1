// Instructions of PTX between the threads of a warp and of a block, and special registers.
#pragma once

#include "block_functions.h"
#include "ptx_arithmetic.h"
#include "warp_functions.h"

namespace torchport::ptx {

using cuda::Shuffle;
using cuda::Site;

template <class D, class A, class B, class C>
__forceinline__ bool shfl(D& d, Shuffle form, A a, B b, C c, unsigned mask, const Site& site) {
  bool in_range = false;
  set_bits(d,
           cuda::shuffle_instruction(form, mask, static_cast<unsigned>(a), static_cast<unsigned>(b),
                                     static_cast<unsigned>(c), in_range, site));
  return in_range;
}
// The lanes that came, and those of them whose predicate is true.
struct Votes {
  unsigned came, yes;
};
inline Votes votes(unsigned mask, bool mine, const Site& site) {
  // Two bits, so that a lane that ended before is none that said no.
  const unsigned lane = cuda::lane_of_thread();
  const unsigned long long left = (1ull << lane) | (mine ? 1ull << (lane + 32) : 0);
  const auto* all =
      static_cast<const unsigned long long*>(cuda::exchange(mask, &left, sizeof(left), site));
  Votes v{0, 0};
  for (unsigned i = 0; i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    v.came |= static_cast<unsigned>(all[i]) & (1u << i);
    v.yes |= static_cast<unsigned>(all[i] >> 32) & (1u << i);
  }
  return v;
}
inline bool vote_all(unsigned mask, bool p, const Site& site) {
  Votes v = votes(mask, p, site);
  return v.yes == v.came;
}
inline bool vote_any(unsigned mask, bool p, const Site& site) {
  return votes(mask, p, site).yes != 0;
}
inline bool vote_uni(unsigned mask, bool p, const Site& site) {
  Votes v = votes(mask, p, site);
  return v.yes == 0 || v.yes == v.came;
}
template <class D>
__forceinline__ void vote_ballot(D& d, unsigned mask, bool p, const Site& site) {
  set_bits(d, votes(mask, p, site).yes);
}
template <class T, class D, class A>
__forceinline__ void match_any(D& d, A a, unsigned mask, const Site& site) {
  bool all = false;
  set_bits(d, cuda::matching(mask, static_cast<Raw<T::kBits>>(a), all, site));
}
template <class T, class D, class A>
__forceinline__ bool match_all(D& d, A a, unsigned mask, const Site& site) {
  bool all = false;
  unsigned same = cuda::matching(mask, static_cast<Raw<T::kBits>>(a), all, site);
  set_bits(d, all ? same : 0u);
  return all;
}
enum class Reduce { kAdd, kMin, kMax, kAnd, kOr, kXor };
template <class T, class D, class A>
__forceinline__ void redux(D& d, Reduce op, A a, unsigned mask, const After& after,
                           const Site& site) {
  using V = Value<T>;
  V r = cuda::reduce(mask, get<T>(a), site, [&](V x, V y) {
    if constexpr (T::kFloat) {
      return chosen(x, y, op == Reduce::kMax, after);
    } else {
      using U = Unsigned<T>;
      switch (op) {
        case Reduce::kAdd:
          return static_cast<V>(static_cast<U>(x) + static_cast<U>(y));
        case Reduce::kMin:
          return x < y ? x : y;
        case Reduce::kMax:
          return x > y ? x : y;
        case Reduce::kAnd:
          return static_cast<V>(x & y);
        case Reduce::kOr:
          return static_cast<V>(x | y);
        case Reduce::kXor:
          return static_cast<V>(x ^ y);
      }
      return x;
    }
  });
  set<T>(d, r);
}
// The first lane that came is elected.
template <class D>
__forceinline__ bool elect(D& d, unsigned mask, const Site& site) {
  unsigned came = votes(mask, true, site).came;
  unsigned leader = static_cast<unsigned>(__builtin_ctz(came));
  set_bits(d, leader);
  return leader == cuda::lane_of_thread();
}

// A thread ends; its kernel goes on.
using cuda::exit_thread;
// The kernel ends, because of an instruction that virtual devices do not have.
[[noreturn]] __attribute__((cold)) inline void refuse(const char* why, const char* file, int line) {
  char text[512];
  __builtin_snprintf(text, sizeof(text), "%s (%s:%d)", why, file, line);
  cuda::trap(text);
}

// ---- Special registers ----
inline unsigned block_number() {
  ::uint3 b = cuda::block_index();
  ::dim3 g = cuda::grid_size();
  return b.x + g.x * (b.y + g.y * b.z);
}
inline unsigned laneid() {
  return cuda::lane_of_thread();
}
inline unsigned warpid() {
  return cuda::warp_of_thread();
}
inline unsigned nwarpid() {
  return 64;
}
inline unsigned lanemask_eq() {
  return 1u << laneid();
}
inline unsigned lanemask_lt() {
  return (1u << laneid()) - 1;
}
inline unsigned lanemask_le() {
  return (2u << laneid()) - 1;
}
inline unsigned lanemask_gt() {
  return ~lanemask_le();
}
inline unsigned lanemask_ge() {
  return ~lanemask_lt();
}
inline unsigned tid_x() {
  return cuda::thread_index().x;
}
inline unsigned tid_y() {
  return cuda::thread_index().y;
}
inline unsigned tid_z() {
  return cuda::thread_index().z;
}
inline unsigned ntid_x() {
  return cuda::block_size().x;
}
inline unsigned ntid_y() {
  return cuda::block_size().y;
}
inline unsigned ntid_z() {
  return cuda::block_size().z;
}
inline unsigned ctaid_x() {
  return cuda::block_index().x;
}
inline unsigned ctaid_y() {
  return cuda::block_index().y;
}
inline unsigned ctaid_z() {
  return cuda::block_index().z;
}
inline unsigned nctaid_x() {
  return cuda::grid_size().x;
}
inline unsigned nctaid_y() {
  return cuda::grid_size().y;
}
inline unsigned nctaid_z() {
  return cuda::grid_size().z;
}
// Blocks stand on the multiprocessors one after the other.
inline unsigned nsmid() {
  return 132;
}
inline unsigned smid() {
  return block_number() % nsmid();
}
inline unsigned long long gridid() {
  return 1;
}
inline unsigned long long clock64() {
  return cuda::device_clock();
}
inline unsigned clock() {
  return static_cast<unsigned>(cuda::device_clock());
}
inline unsigned clock_hi() {
  return static_cast<unsigned>(cuda::device_clock() >> 32);
}
inline unsigned long long globaltimer() {
  return cuda::device_nanoseconds();
}
inline unsigned globaltimer_lo() {
  return static_cast<unsigned>(globaltimer());
}
inline unsigned globaltimer_hi() {
  return static_cast<unsigned>(globaltimer() >> 32);
}
inline unsigned dynamic_smem_size() {
  return static_cast<unsigned>(cuda::dynamic_shared_bytes());
}
inline unsigned total_smem_size() {
  return dynamic_smem_size();
}
// Each block is a cluster of its own.
inline unsigned one() {
  return 1;
}
inline unsigned none() {
  return 0;
}

}  // namespace torchport::ptx
