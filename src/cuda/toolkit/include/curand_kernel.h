// cuRAND's functions of device code: the same bits of the same seeds, sequences and offsets. Normal
// numbers take a float sine, whose last bits are this machine's; Poisson numbers for means from 64
// to 4000 are drawn by another algorithm than cuRAND's.
#pragma once

#include "curand.h"
#include "curand_philox4x32_x.h"
#include "torchport/functions.h"
#include "torchport/random_engines.h"

typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;

#define TORCHPORT_RANDOM __inline__ __attribute__((unused))

// ---- Starting ----
TORCHPORT_RANDOM void skipahead(unsigned long long n, curandStateXORWOW_t* s) {
  torchport::xorwow_skip(s->v, n, 0);
  s->d += 362437u * static_cast<unsigned>(n);
}
TORCHPORT_RANDOM void skipahead_sequence(unsigned long long n, curandStateXORWOW_t* s) {
  torchport::xorwow_skip(s->v, n, 67);  // 2^67 steps; those of d are a multiple of 2^32
}
TORCHPORT_RANDOM void curand_init(unsigned long long seed, unsigned long long sequence,
                                  unsigned long long offset, curandStateXORWOW_t* s) {
  const unsigned t0 = (static_cast<unsigned>(seed) ^ 0xaad26b49u) * 1099087573u;
  const unsigned t1 = (static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddu) * 2591861531u;
  s->d = 6615241u + t1 + t0;
  s->v[0] = 123456789u + t0;
  s->v[1] = 362436069u ^ t0;
  s->v[2] = 521288629u + t1;
  s->v[3] = 88675123u ^ t1;
  s->v[4] = 5783321u + t0;
  s->boxmuller_flag = s->boxmuller_flag_double = 0;
  s->boxmuller_extra = 0;
  s->boxmuller_extra_double = 0;
  skipahead_sequence(sequence, s);
  skipahead(offset, s);
}

TORCHPORT_RANDOM void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* s) {
  s->STATE += static_cast<unsigned>(n & 3);
  n /= 4;
  if (s->STATE > 3) {
    ++n;
    s->STATE -= 4;
  }
  Philox_State_Incr(s, n);
  s->output = curand_Philox4x32_10(s->ctr, s->key);
}
TORCHPORT_RANDOM void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* s) {
  Philox_State_Incr_hi(s, n);
  s->output = curand_Philox4x32_10(s->ctr, s->key);
}
TORCHPORT_RANDOM void curand_init(unsigned long long seed, unsigned long long sequence,
                                  unsigned long long offset, curandStatePhilox4_32_10_t* s) {
  s->ctr = uint4{0, 0, 0, 0};
  s->key = uint2{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  s->STATE = 0;
  s->boxmuller_flag = s->boxmuller_flag_double = 0;
  s->boxmuller_extra = 0;
  s->boxmuller_extra_double = 0;
  skipahead_sequence(sequence, s);
  skipahead(offset, s);
}

TORCHPORT_RANDOM void skipahead(unsigned long long n, curandStateMRG32k3a_t* s) {
  torchport::mrg_skip(s, n, 0);
}
TORCHPORT_RANDOM void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t* s) {
  torchport::mrg_skip(s, n, 76);
}
TORCHPORT_RANDOM void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t* s) {
  torchport::mrg_skip(s, n, 127);
}
TORCHPORT_RANDOM void curand_init(unsigned long long seed, unsigned long long sequence,
                                  unsigned long long offset, curandStateMRG32k3a_t* s) {
  for (int i = 0; i < 3; ++i) s->s1[i] = s->s2[i] = 12345u;
  if (seed != 0) {
    const unsigned long long low = static_cast<unsigned>(seed) ^ 0x55555555u;
    const unsigned long long high = static_cast<unsigned>(seed >> 32) ^ 0xaaaaaaaau;
    for (int i = 0; i < 3; ++i) {
      s->s1[i] = static_cast<unsigned>((i == 1 ? high : low) * s->s1[i] % torchport::kMrg1);
      s->s2[i] = static_cast<unsigned>((i == 1 ? low : high) * s->s2[i] % torchport::kMrg2);
    }
  }
  s->boxmuller_flag = s->boxmuller_flag_double = 0;
  s->boxmuller_extra = 0;
  s->boxmuller_extra_double = 0;
  skipahead_subsequence(sequence, s);
  skipahead(offset, s);
}

#define TORCHPORT_SOBOL(STATE, WORD, DIRECTIONS)      \
  TORCHPORT_RANDOM void skipahead(WORD n, STATE* s) { \
    torchport::sobol_skip(s, n);                      \
  }
TORCHPORT_SOBOL(curandStateSobol32_t, unsigned int, )
TORCHPORT_SOBOL(curandStateScrambledSobol32_t, unsigned int, )
TORCHPORT_SOBOL(curandStateSobol64_t, unsigned long long, )
TORCHPORT_SOBOL(curandStateScrambledSobol64_t, unsigned long long, )
#undef TORCHPORT_SOBOL
TORCHPORT_RANDOM void curand_init(const unsigned int* directions, unsigned int offset,
                                  curandStateSobol32_t* s) {
  torchport::sobol_start(directions, 0u, offset, s);
}
TORCHPORT_RANDOM void curand_init(const unsigned int* directions, unsigned int scramble,
                                  unsigned int offset, curandStateScrambledSobol32_t* s) {
  torchport::sobol_start(directions, scramble, offset, s);
}
TORCHPORT_RANDOM void curand_init(const unsigned long long* directions, unsigned long long offset,
                                  curandStateSobol64_t* s) {
  torchport::sobol_start(directions, 0ull, offset, s);
}
TORCHPORT_RANDOM void curand_init(const unsigned long long* directions, unsigned long long scramble,
                                  unsigned long long offset, curandStateScrambledSobol64_t* s) {
  torchport::sobol_start(directions, scramble, offset, s);
}

// ---- Whole numbers ----
TORCHPORT_RANDOM unsigned int curand(curandStateXORWOW_t* s) {
  torchport::xorwow_step(s->v);
  s->d += 362437u;
  return s->v[4] + s->d;
}
TORCHPORT_RANDOM unsigned int curand(curandStatePhilox4_32_10_t* s) {
  const unsigned at = s->STATE++;
  const unsigned result = at == 0   ? s->output.x
                          : at == 1 ? s->output.y
                          : at == 2 ? s->output.z
                                    : s->output.w;
  if (s->STATE == 4) {
    Philox_State_Incr(s);
    s->output = curand_Philox4x32_10(s->ctr, s->key);
    s->STATE = 0;
  }
  return result;
}
TORCHPORT_RANDOM uint4 curand4(curandStatePhilox4_32_10_t* s) {
  const uint4 a = s->output;
  Philox_State_Incr(s);
  s->output = curand_Philox4x32_10(s->ctr, s->key);
  const uint4 b = s->output;
  switch (s->STATE) {
    case 1:
      return uint4{a.y, a.z, a.w, b.x};
    case 2:
      return uint4{a.z, a.w, b.x, b.y};
    case 3:
      return uint4{a.w, b.x, b.y, b.z};
    default:
      return a;
  }
}
TORCHPORT_RANDOM double curand_MRG32k3a(curandStateMRG32k3a_t* s) {
  return torchport::mrg_draw(s);
}
TORCHPORT_RANDOM unsigned int curand(curandStateMRG32k3a_t* s) {
  // From [1, m1] to all of 32 bits.
  return static_cast<unsigned>(torchport::mrg_draw(s) * 1.000000048662);
}
TORCHPORT_RANDOM unsigned int curand(curandStateSobol32_t* s) {
  return torchport::sobol_draw(s);
}
TORCHPORT_RANDOM unsigned int curand(curandStateScrambledSobol32_t* s) {
  return torchport::sobol_draw(s);
}
TORCHPORT_RANDOM unsigned long long curand(curandStateSobol64_t* s) {
  return torchport::sobol_draw(s);
}
TORCHPORT_RANDOM unsigned long long curand(curandStateScrambledSobol64_t* s) {
  return torchport::sobol_draw(s);
}

// ---- Uniform numbers, in (0, 1] ----
namespace torchport {

constexpr float kUnit = 2.3283064e-10f;                 // 2^-32
constexpr double kUnitDouble = 2.3283064365386963e-10;  // 2^-32
constexpr double kFine = 1.1102230246251565e-16;        // 2^-53
constexpr float kTurn = 6.2831855f * kUnit;
constexpr double kMrgUnit = 2.3283065498378289e-10;  // 1 / m1

inline float uniform_of(unsigned x) {
  return x * kUnit + kUnit / 2.0f;
}
inline float uniform_of(unsigned long long x) {
  return uniform_of(static_cast<unsigned>(x >> 32));
}
inline double uniform_double_of(unsigned x, unsigned y) {
  const unsigned long long z = x ^ (static_cast<unsigned long long>(y) << (53 - 32));
  return static_cast<double>(z) * kFine + kFine / 2.0;
}

}  // namespace torchport

TORCHPORT_RANDOM float curand_uniform(curandStateXORWOW_t* s) {
  return torchport::uniform_of(curand(s));
}
TORCHPORT_RANDOM float curand_uniform(curandStatePhilox4_32_10_t* s) {
  return torchport::uniform_of(curand(s));
}
TORCHPORT_RANDOM float curand_uniform(curandStateMRG32k3a_t* s) {
  return static_cast<float>(torchport::mrg_draw(s) * torchport::kMrgUnit);
}
TORCHPORT_RANDOM float curand_uniform(curandStateSobol32_t* s) {
  return torchport::uniform_of(curand(s));
}
TORCHPORT_RANDOM float curand_uniform(curandStateScrambledSobol32_t* s) {
  return torchport::uniform_of(curand(s));
}
TORCHPORT_RANDOM float curand_uniform(curandStateSobol64_t* s) {
  return torchport::uniform_of(curand(s));
}
TORCHPORT_RANDOM float curand_uniform(curandStateScrambledSobol64_t* s) {
  return torchport::uniform_of(curand(s));
}
TORCHPORT_RANDOM float4 curand_uniform4(curandStatePhilox4_32_10_t* s) {
  const uint4 x = curand4(s);
  return float4{torchport::uniform_of(x.x), torchport::uniform_of(x.y), torchport::uniform_of(x.z),
                torchport::uniform_of(x.w)};
}

TORCHPORT_RANDOM double curand_uniform_double(curandStateXORWOW_t* s) {
  const unsigned x = curand(s), y = curand(s);
  return torchport::uniform_double_of(x, y);
}
// 32 bits only, unlike curand_uniform2_double.
TORCHPORT_RANDOM double curand_uniform_double(curandStatePhilox4_32_10_t* s) {
  return curand(s) * torchport::kUnitDouble + torchport::kUnitDouble;
}
TORCHPORT_RANDOM double curand_uniform_double(curandStateMRG32k3a_t* s) {
  return torchport::mrg_draw(s) * torchport::kMrgUnit;
}
#define TORCHPORT_SOBOL(STATE)                                          \
  TORCHPORT_RANDOM double curand_uniform_double(STATE* s) {             \
    return curand(s) * torchport::kUnitDouble + torchport::kUnitDouble; \
  }
TORCHPORT_SOBOL(curandStateSobol32_t)
TORCHPORT_SOBOL(curandStateScrambledSobol32_t)
#undef TORCHPORT_SOBOL
#define TORCHPORT_SOBOL(STATE)                                                               \
  TORCHPORT_RANDOM double curand_uniform_double(STATE* s) {                                  \
    return static_cast<double>(curand(s) >> 11) * torchport::kFine + torchport::kFine / 2.0; \
  }
TORCHPORT_SOBOL(curandStateSobol64_t)
TORCHPORT_SOBOL(curandStateScrambledSobol64_t)
#undef TORCHPORT_SOBOL
TORCHPORT_RANDOM double2 curand_uniform2_double(curandStatePhilox4_32_10_t* s) {
  const uint4 x = curand4(s);
  return double2{torchport::uniform_double_of(x.x, x.y), torchport::uniform_double_of(x.z, x.w)};
}
TORCHPORT_RANDOM double4 curand_uniform4_double(curandStatePhilox4_32_10_t* s) {
  const double2 a = curand_uniform2_double(s), b = curand_uniform2_double(s);
  return double4{a.x, a.y, b.x, b.y};
}

// ---- Normal numbers: Box and Muller, whose second number is kept for the next call ----
namespace torchport {

constexpr int kKept = 0xf0f0;

inline float2 box_muller(unsigned x, unsigned y) {
  const float u = x * kUnit + kUnit / 2, angle = y * kTurn + kTurn / 2;
  const float length = sqrtf(-2.0f * logf(u));
  float2 result;
  __sincosf(angle, &result.x, &result.y);
  result.x *= length;
  result.y *= length;
  return result;
}
inline double2 box_muller_double(unsigned x0, unsigned x1, unsigned y0, unsigned y1) {
  const unsigned long long zx = x0 ^ (static_cast<unsigned long long>(x1) << (53 - 32));
  const unsigned long long zy = y0 ^ (static_cast<unsigned long long>(y1) << (53 - 32));
  const double u = static_cast<double>(zx) * kFine + kFine / 2.0;
  const double turns = static_cast<double>(zy) * (kFine * 2.0) + kFine;
  const double length = sqrt(-2.0 * log(u));
  double2 result;
  sincospi(turns, &result.x, &result.y);
  result.x *= length;
  result.y *= length;
  return result;
}

// What a state draws for a pair.
template <class State>
inline float2 normal_pair(State* s) {
  const unsigned x = curand(s), y = curand(s);
  return box_muller(x, y);
}
inline float2 normal_pair(curandStateMRG32k3a* s) {
  const float x = curand_uniform(s), y = curand_uniform(s) * 6.2831855f;
  const float length = sqrtf(-2.0f * logf(x));
  float2 result;
  __sincosf(y, &result.x, &result.y);
  result.x *= length;
  result.y *= length;
  return result;
}
template <class State>
inline double2 normal_pair_double(State* s) {
  const unsigned x0 = curand(s), x1 = curand(s), y0 = curand(s), y1 = curand(s);
  return box_muller_double(x0, x1, y0, y1);
}
inline double2 normal_pair_double(curandStateMRG32k3a* s) {
  const double x = curand_uniform_double(s), y = curand_uniform_double(s) * 2.0;
  const double length = sqrt(-2.0 * log(x));
  double2 result;
  sincospi(y, &result.x, &result.y);
  result.x *= length;
  result.y *= length;
  return result;
}
template <class State>
inline float normal(State* s) {
  if (s->boxmuller_flag == kKept) {
    s->boxmuller_flag = 0;
    return s->boxmuller_extra;
  }
  const float2 pair = normal_pair(s);
  s->boxmuller_extra = pair.y;
  s->boxmuller_flag = kKept;
  return pair.x;
}
template <class State>
inline double normal_double(State* s) {
  if (s->boxmuller_flag_double == kKept) {
    s->boxmuller_flag_double = 0;
    return s->boxmuller_extra_double;
  }
  const double2 pair = normal_pair_double(s);
  s->boxmuller_extra_double = pair.y;
  s->boxmuller_flag_double = kKept;
  return pair.x;
}
// Of Sobol sequences: the inverse of the distribution.
inline float inverse_normal(unsigned x) {
  float sign = -1.4142135f;
  if (x > 0x80000000u) {
    x = 0xffffffffu - x;
    sign = -sign;
  }
  const float p = x * kUnit + kUnit / 2.0f;
  return sign * erfcinvf(2.0f * p);
}
inline float inverse_normal(unsigned long long x) {
  return inverse_normal(static_cast<unsigned>(x >> 32));
}
inline double inverse_normal_double(unsigned x) {
  double sign = -1.4142135623730951;
  if (x > 0x80000000u) {
    x = 0xffffffffu - x;
    sign = -sign;
  }
  const double p = x * kUnitDouble + kUnitDouble / 2.0;
  return sign * erfcinv(2.0 * p);
}
inline double inverse_normal_double(unsigned long long x) {
  double sign = -1.4142135623730951;
  x >>= 11;
  if (x > 0x10000000000000ull) {
    x = 0x1fffffffffffffull - x;
    sign = -sign;
  }
  const double p = static_cast<double>(x) * kFine + kFine / 2.0;
  return sign * erfcinv(2.0 * p);
}

}  // namespace torchport

#define TORCHPORT_NORMAL(STATE)                                                              \
  TORCHPORT_RANDOM float curand_normal(STATE* s) {                                           \
    return torchport::normal(s);                                                             \
  }                                                                                          \
  TORCHPORT_RANDOM float2 curand_normal2(STATE* s) {                                         \
    return torchport::normal_pair(s);                                                        \
  }                                                                                          \
  TORCHPORT_RANDOM double curand_normal_double(STATE* s) {                                   \
    return torchport::normal_double(s);                                                      \
  }                                                                                          \
  TORCHPORT_RANDOM double2 curand_normal2_double(STATE* s) {                                 \
    return torchport::normal_pair_double(s);                                                 \
  }                                                                                          \
  TORCHPORT_RANDOM float2 curand_log_normal2(STATE* s, float mean, float stddev) {           \
    const float2 n = torchport::normal_pair(s);                                              \
    return float2{expf(mean + stddev * n.x), expf(mean + stddev * n.y)};                     \
  }                                                                                          \
  TORCHPORT_RANDOM double2 curand_log_normal2_double(STATE* s, double mean, double stddev) { \
    const double2 n = torchport::normal_pair_double(s);                                      \
    return double2{exp(mean + stddev * n.x), exp(mean + stddev * n.y)};                      \
  }
TORCHPORT_NORMAL(curandStateXORWOW_t)
TORCHPORT_NORMAL(curandStatePhilox4_32_10_t)
TORCHPORT_NORMAL(curandStateMRG32k3a_t)
#undef TORCHPORT_NORMAL
#define TORCHPORT_NORMAL(STATE)                            \
  TORCHPORT_RANDOM float curand_normal(STATE* s) {         \
    return torchport::inverse_normal(curand(s));           \
  }                                                        \
  TORCHPORT_RANDOM double curand_normal_double(STATE* s) { \
    return torchport::inverse_normal_double(curand(s));    \
  }
TORCHPORT_NORMAL(curandStateSobol32_t)
TORCHPORT_NORMAL(curandStateScrambledSobol32_t)
TORCHPORT_NORMAL(curandStateSobol64_t)
TORCHPORT_NORMAL(curandStateScrambledSobol64_t)
#undef TORCHPORT_NORMAL
#define TORCHPORT_LOG_NORMAL(STATE)                                                        \
  TORCHPORT_RANDOM float curand_log_normal(STATE* s, float mean, float stddev) {           \
    return expf(mean + stddev * curand_normal(s));                                         \
  }                                                                                        \
  TORCHPORT_RANDOM double curand_log_normal_double(STATE* s, double mean, double stddev) { \
    return exp(mean + stddev * curand_normal_double(s));                                   \
  }
TORCHPORT_LOG_NORMAL(curandStateXORWOW_t)
TORCHPORT_LOG_NORMAL(curandStatePhilox4_32_10_t)
TORCHPORT_LOG_NORMAL(curandStateMRG32k3a_t)
TORCHPORT_LOG_NORMAL(curandStateSobol32_t)
TORCHPORT_LOG_NORMAL(curandStateScrambledSobol32_t)
TORCHPORT_LOG_NORMAL(curandStateSobol64_t)
TORCHPORT_LOG_NORMAL(curandStateScrambledSobol64_t)
#undef TORCHPORT_LOG_NORMAL
TORCHPORT_RANDOM float4 curand_normal4(curandStatePhilox4_32_10_t* s) {
  const uint4 x = curand4(s);
  const float2 a = torchport::box_muller(x.x, x.y), b = torchport::box_muller(x.z, x.w);
  return float4{a.x, a.y, b.x, b.y};
}
TORCHPORT_RANDOM double4 curand_normal4_double(curandStatePhilox4_32_10_t* s) {
  const double2 a = curand_normal2_double(s), b = curand_normal2_double(s);
  return double4{a.x, a.y, b.x, b.y};
}
TORCHPORT_RANDOM float4 curand_log_normal4(curandStatePhilox4_32_10_t* s, float mean,
                                           float stddev) {
  const float4 n = curand_normal4(s);
  return float4{expf(mean + stddev * n.x), expf(mean + stddev * n.y), expf(mean + stddev * n.z),
                expf(mean + stddev * n.w)};
}
TORCHPORT_RANDOM double4 curand_log_normal4_double(curandStatePhilox4_32_10_t* s, double mean,
                                                   double stddev) {
  const double4 n = curand_normal4_double(s);
  return double4{exp(mean + stddev * n.x), exp(mean + stddev * n.y), exp(mean + stddev * n.z),
                 exp(mean + stddev * n.w)};
}

// ---- Poisson numbers ----
namespace torchport {

// Knuth's: how many uniform numbers until their product is below exp(-mean).
template <class State>
inline unsigned poisson_product(State* s, float mean) {
  unsigned k = 0;
  float p = expf(mean);
  do {
    ++k;
    p *= curand_uniform(s);
  } while (p > 1.0f);
  return k - 1;
}
// From a uniform number by the distribution itself, outwards from the most likely value.
template <class State>
inline unsigned poisson_inverse(State* s, double mean) {
  const double u = curand_uniform(s);
  const double mode = std::floor(mean), at_mode = exp(mode * log(mean) - mean - ::lgamma(mode + 1));
  double below = 0, term = at_mode;
  for (double k = mode; k >= 0 && term > 1e-18; --k) {
    below += term;
    term *= k / mean;
  }
  // `below`: of all numbers up to the mode.
  double k = mode;
  term = at_mode;
  if (u <= below) {
    while (k > 0 && below - term >= u) {
      below -= term;
      term *= k / mean;
      --k;
    }
    return static_cast<unsigned>(k);
  }
  while (below < u && term > 1e-300) {
    ++k;
    term *= mean / k;
    below += term;
  }
  return static_cast<unsigned>(k);
}
inline unsigned poisson_normal(double normal, double mean) {
  const double x = sqrt(mean) * normal + mean + 0.5;
  return x > 0 ? static_cast<unsigned>(x) : 0;
}
template <class State>
inline unsigned poisson(State* s, double mean) {
  if (mean < 64) return poisson_product(s, static_cast<float>(mean));
  if (mean > 4000) return poisson_normal(curand_normal_double(s), mean);
  return poisson_inverse(s, mean);
}

}  // namespace torchport

TORCHPORT_RANDOM unsigned int curand_poisson(curandStateXORWOW_t* s, double lambda) {
  return torchport::poisson(s, lambda);
}
TORCHPORT_RANDOM unsigned int curand_poisson(curandStatePhilox4_32_10_t* s, double lambda) {
  return torchport::poisson(s, lambda);
}
TORCHPORT_RANDOM unsigned int curand_poisson(curandStateMRG32k3a_t* s, double lambda) {
  return torchport::poisson(s, lambda);
}
#define TORCHPORT_SOBOL(STATE)                                            \
  TORCHPORT_RANDOM unsigned int curand_poisson(STATE* s, double lambda) { \
    return torchport::poisson_inverse(s, lambda);                         \
  }
TORCHPORT_SOBOL(curandStateSobol32_t)
TORCHPORT_SOBOL(curandStateScrambledSobol32_t)
TORCHPORT_SOBOL(curandStateSobol64_t)
TORCHPORT_SOBOL(curandStateScrambledSobol64_t)
#undef TORCHPORT_SOBOL
TORCHPORT_RANDOM uint4 curand_poisson4(curandStatePhilox4_32_10_t* s, double lambda) {
  const unsigned x = torchport::poisson(s, lambda), y = torchport::poisson(s, lambda);
  const unsigned z = torchport::poisson(s, lambda), w = torchport::poisson(s, lambda);
  return uint4{x, y, z, w};
}

// ---- Numbers of a distribution of curandCreatePoissonDistribution: one draw each, as those of
// generators of the host ----
namespace torchport {

inline unsigned discrete_of(double uniform, curandDiscreteDistribution_t d) {
  const double at = uniform * d->columns;
  unsigned column = static_cast<unsigned>(at);
  if (column >= d->columns) column = d->columns - 1;
  return at - column < d->threshold[column] ? d->least + column : d->other[column];
}
inline double discrete_uniform(unsigned x) {
  return x * kUnitDouble + kUnitDouble / 2;
}
inline double discrete_uniform(unsigned long long x) {
  return static_cast<double>(x >> 11) * kFine + kFine / 2;
}

}  // namespace torchport

#define TORCHPORT_DISCRETE(STATE)                                                           \
  TORCHPORT_RANDOM unsigned int curand_discrete(STATE* s, curandDiscreteDistribution_t d) { \
    return torchport::discrete_of(torchport::discrete_uniform(curand(s)), d);               \
  }
TORCHPORT_DISCRETE(curandStateXORWOW_t)
TORCHPORT_DISCRETE(curandStatePhilox4_32_10_t)
TORCHPORT_DISCRETE(curandStateSobol32_t)
TORCHPORT_DISCRETE(curandStateScrambledSobol32_t)
TORCHPORT_DISCRETE(curandStateSobol64_t)
TORCHPORT_DISCRETE(curandStateScrambledSobol64_t)
#undef TORCHPORT_DISCRETE
TORCHPORT_RANDOM unsigned int curand_discrete(curandStateMRG32k3a_t* s,
                                              curandDiscreteDistribution_t d) {
  return torchport::discrete_of(curand_uniform_double(s), d);
}
TORCHPORT_RANDOM uint4 curand_discrete4(curandStatePhilox4_32_10_t* s,
                                        curandDiscreteDistribution_t d) {
  const uint4 x = curand4(s);
  const auto of = [d](unsigned one) {
    return torchport::discrete_of(torchport::discrete_uniform(one), d);
  };
  return uint4{of(x.x), of(x.y), of(x.z), of(x.w)};
}

#undef TORCHPORT_RANDOM
