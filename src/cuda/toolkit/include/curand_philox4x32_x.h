// Philox4x32 with 10 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2,
// 3" (2011), with the counter laid out as cuRAND does: the place in the sequence in x and y, the
// sequence in z and w.
#pragma once

#include "torchport/integers.h"

struct curandStatePhilox4_32_10 {
  uint4 ctr;
  uint4 output;
  uint2 key;
  unsigned int STATE;  // how many of `output` are used
  int boxmuller_flag;
  int boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

__forceinline__ uint4 curand_Philox4x32_10(uint4 c, uint2 k) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long long a = 0xd2511f53ull * c.x, b = 0xcd9e8d57ull * c.z;
    c = uint4{static_cast<unsigned>(b >> 32) ^ c.y ^ k.x, static_cast<unsigned>(b),
              static_cast<unsigned>(a >> 32) ^ c.w ^ k.y, static_cast<unsigned>(a)};
    k.x += 0x9e3779b9u;
    k.y += 0xbb67ae85u;
  }
  return c;
}

// Adds to the counter of 128 bits.
__forceinline__ void Philox_State_Incr(curandStatePhilox4_32_10_t* s, unsigned long long n = 1) {
  const unsigned long long low = static_cast<unsigned long long>(s->ctr.y) << 32 | s->ctr.x;
  unsigned long long high = static_cast<unsigned long long>(s->ctr.w) << 32 | s->ctr.z;
  const unsigned long long sum = low + n;
  high += sum < low;
  s->ctr = uint4{static_cast<unsigned>(sum), static_cast<unsigned>(sum >> 32),
                 static_cast<unsigned>(high), static_cast<unsigned>(high >> 32)};
}
__forceinline__ void Philox_State_Incr_hi(curandStatePhilox4_32_10_t* s, unsigned long long n) {
  const unsigned long long high = (static_cast<unsigned long long>(s->ctr.w) << 32 | s->ctr.z) + n;
  s->ctr.z = static_cast<unsigned>(high);
  s->ctr.w = static_cast<unsigned>(high >> 32);
}
