// Mersenne's twister: a block makes the numbers of one generator, whose state is in shared memory;
// then normal numbers of pairs.
#include <random>

#include "sample.h"

constexpr int kState = 624, kMiddle = 397;

__device__ unsigned twist(unsigned high, unsigned low, unsigned other) {
  const unsigned y = (high & 0x80000000u) | (low & 0x7fffffffu);
  return other ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
}

__global__ void generate(unsigned* out, const unsigned* seeds, int rounds) {
  __shared__ unsigned state[kState];
  if (threadIdx.x == 0) {
    state[0] = seeds[blockIdx.x];
    for (int i = 1; i < kState; ++i)
      state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
  }
  __syncthreads();
  unsigned* mine = out + blockIdx.x * rounds * kState;
  for (int round = 0; round < rounds; ++round) {
    // Numbers that do not depend on each other: [0, 227), [227, 454), [454, 624).
    const int bounds[] = {0, kState - kMiddle, 2 * (kState - kMiddle), kState};
    for (int part = 0; part < 3; ++part) {
      const int i = bounds[part] + threadIdx.x;
      unsigned value = 0;
      if (i < bounds[part + 1])
        value = twist(state[i], state[(i + 1) % kState], state[(i + kMiddle) % kState]);
      __syncthreads();
      if (i < bounds[part + 1]) state[i] = value;
      __syncthreads();
    }
    for (int i = threadIdx.x; i < kState; i += blockDim.x) {
      unsigned y = state[i];
      y ^= y >> 11, y ^= y << 7 & 0x9d2c5680u, y ^= y << 15 & 0xefc60000u, y ^= y >> 18;
      mine[round * kState + i] = y;
    }
    __syncthreads();
  }
}

__global__ void box_muller(const unsigned* in, float* out, int pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  const float u = (in[2 * i] + 1.0f) / 4294967296.0f, v = in[2 * i + 1] / 4294967296.0f;
  const float radius = sqrtf(-2.0f * logf(fminf(u, 0.99999994f)));
  float s, c;
  __sincosf(6.28318531f * v, &s, &c);
  out[2 * i] = radius * c, out[2 * i + 1] = radius * s;
}

int main() {
  const int generators = 3, rounds = 4, each = rounds * kState;
  const std::vector<unsigned> seeds{5489u, 1u, 42u};
  Array<unsigned> s(seeds), out(generators * each);
  generate<<<generators, 256>>>(out, s, rounds);
  const auto numbers = out.host();
  bool right = true;
  for (int g = 0; g < generators; ++g) {
    std::mt19937 reference(seeds[g]);
    for (int i = 0; i < each; ++i) right = right && numbers[g * each + i] == reference();
  }
  const int n = generators * each;
  Array<float> normal(n);
  box_muller<<<(n / 2 + 127) / 128, 128>>>(out, normal, n / 2);
  double sum = 0, squares = 0;
  for (float one : normal.host()) sum += one, squares += double(one) * one;
  return finish("mersenne_twister",
                right && std::fabs(sum / n) < 0.05 && std::fabs(squares / n - 1) < 0.05);
}
