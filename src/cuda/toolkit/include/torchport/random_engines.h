// The other generators of curand_kernel.h: XORWOW (Marsaglia, "Xorshift RNGs", 2003), MRG32k3a
// (L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number
// generators", 1999) and Sobol sequences (Bratley, Fox, "Algorithm 659", 1988, in the order of
// Antonov and Saleev). Seeds, and distances between sequences, are those of cuRAND.
#pragma once

#include <array>

#include "integers.h"

struct curandStateXORWOW {
  unsigned int d, v[5];
  int boxmuller_flag;
  int boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;

struct curandStateMRG32k3a {
  unsigned int s1[3];
  unsigned int s2[3];
  int boxmuller_flag;
  int boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

#define TORCHPORT_SOBOL(NAME, WORD, BITS) \
  struct NAME {                           \
    WORD i, x, c;                         \
    WORD direction_vectors[BITS];         \
  };                                      \
  typedef struct NAME NAME##_t;
TORCHPORT_SOBOL(curandStateSobol32, unsigned int, 32)
TORCHPORT_SOBOL(curandStateScrambledSobol32, unsigned int, 32)
TORCHPORT_SOBOL(curandStateSobol64, unsigned long long, 64)
TORCHPORT_SOBOL(curandStateScrambledSobol64, unsigned long long, 64)
#undef TORCHPORT_SOBOL

namespace torchport {

// ---- XORWOW ----
inline void xorwow_step(unsigned (&v)[5]) {
  const unsigned t = v[0] ^ (v[0] >> 2);
  v[0] = v[1];
  v[1] = v[2];
  v[2] = v[3];
  v[3] = v[4];
  v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
}

// A step of v is linear over bits: row i is what bit i of v becomes.
struct XorwowMatrix {
  unsigned rows[160][5];

  void apply(unsigned (&v)[5]) const {
    unsigned sum[5] = {0, 0, 0, 0, 0};
    for (unsigned word = 0; word < 5; ++word)
      for (unsigned left = v[word]; left; left &= left - 1) {
        const unsigned(&row)[5] = rows[word * 32 + static_cast<unsigned>(__builtin_ctz(left))];
        for (int k = 0; k < 5; ++k) sum[k] ^= row[k];
      }
    for (int k = 0; k < 5; ++k) v[k] = sum[k];
  }
};

// Steps by 2^0, 2^1, ..., 2^130, computed once: each is the one before, twice.
struct XorwowPowers {
  std::array<XorwowMatrix, 131> by;

  XorwowPowers() {
    for (unsigned bit = 0; bit < 160; ++bit) {
      unsigned v[5] = {0, 0, 0, 0, 0};
      v[bit / 32] = 1u << (bit % 32);
      xorwow_step(v);
      for (int k = 0; k < 5; ++k) by[0].rows[bit][k] = v[k];
    }
    for (std::size_t power = 1; power < by.size(); ++power)
      for (unsigned bit = 0; bit < 160; ++bit) {
        unsigned v[5];
        for (int k = 0; k < 5; ++k) v[k] = by[power - 1].rows[bit][k];
        by[power - 1].apply(v);
        for (int k = 0; k < 5; ++k) by[power].rows[bit][k] = v[k];
      }
  }
};
inline const XorwowPowers& xorwow_powers() {
  static const XorwowPowers powers;
  return powers;
}
// n times 2^first steps.
inline void xorwow_skip(unsigned (&v)[5], unsigned long long n, unsigned first) {
  if (n == 0) return;
  const XorwowPowers& powers = xorwow_powers();
  for (unsigned power = first; n; ++power, n >>= 1)
    if (n & 1) powers.by[power].apply(v);
}

// ---- MRG32k3a ----
constexpr unsigned long long kMrg1 = 4294967087ull, kMrg2 = 4294944443ull;
struct MrgMatrix {
  unsigned long long m[3][3];
};
inline MrgMatrix mrg_product(const MrgMatrix& a, const MrgMatrix& b, unsigned long long modulus) {
  MrgMatrix r{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k)
        r.m[i][j] = (r.m[i][j] + a.m[i][k] * b.m[k][j] % modulus) % modulus;
  return r;
}
inline void mrg_skip_part(unsigned (&s)[3], MrgMatrix step, unsigned long long modulus,
                          unsigned long long n, unsigned first) {
  for (unsigned i = 0; i < first; ++i) step = mrg_product(step, step, modulus);
  for (; n; n >>= 1) {
    if (n & 1) {
      unsigned long long r[3] = {0, 0, 0};
      for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) r[i] = (r[i] + step.m[i][k] * s[k] % modulus) % modulus;
      for (int i = 0; i < 3; ++i) s[i] = static_cast<unsigned>(r[i]);
    }
    if (n > 1) step = mrg_product(step, step, modulus);
  }
}
// n times 2^first steps.
inline void mrg_skip(curandStateMRG32k3a* s, unsigned long long n, unsigned first) {
  if (n == 0) return;
  const MrgMatrix one{{{0, 1, 0}, {0, 0, 1}, {kMrg1 - 810728, 1403580, 0}}};
  const MrgMatrix two{{{0, 1, 0}, {0, 0, 1}, {kMrg2 - 1370589, 0, 527612}}};
  mrg_skip_part(s->s1, one, kMrg1, n, first);
  mrg_skip_part(s->s2, two, kMrg2, n, first);
}
// A whole number in [1, m1].
inline unsigned mrg_draw(curandStateMRG32k3a* s) {
  const unsigned long long p =
      (1403580ull * s->s1[1] + (kMrg1 - 810728) * s->s1[0] % kMrg1) % kMrg1;
  const unsigned long long q =
      (527612ull * s->s2[2] + (kMrg2 - 1370589) * s->s2[0] % kMrg2) % kMrg2;
  s->s1[0] = s->s1[1], s->s1[1] = s->s1[2], s->s1[2] = static_cast<unsigned>(p);
  s->s2[0] = s->s2[1], s->s2[1] = s->s2[2], s->s2[2] = static_cast<unsigned>(q);
  return static_cast<unsigned>(p > q ? p - q : p + kMrg1 - q);
}

// ---- Sobol ----
template <class State, class Word>
inline void sobol_skip(State* s, Word n) {
  constexpr unsigned kBits = sizeof(Word) * 8;
  s->i += n;
  const Word gray = s->i ^ (s->i >> 1);
  s->x = s->c;
  for (unsigned k = 0; k < kBits; ++k)
    if (gray >> k & 1) s->x ^= s->direction_vectors[k];
}
template <class State, class Word>
inline void sobol_start(const Word* directions, Word first, Word offset, State* s) {
  constexpr unsigned kBits = sizeof(Word) * 8;
  for (unsigned k = 0; k < kBits; ++k) s->direction_vectors[k] = directions[k];
  s->i = 0;
  s->c = first;
  sobol_skip(s, offset);
}
template <class State>
inline auto sobol_draw(State* s) {
  const auto result = s->x;
  const auto zero = ~s->i;  // its lowest bit is the lowest 0 of i
  if (zero != 0) s->x ^= s->direction_vectors[__builtin_ctzll(zero)];
  ++s->i;
  return result;
}

}  // namespace torchport
