// Monte Carlo with cuRAND's functions in kernels: pi, the price of an option, states that go on in
// a second kernel, three kinds of generators.
#include <curand_kernel.h>

#include "sample.h"

__global__ void prepare(curandState* states, unsigned long long seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, i, 0, &states[i]);
}

__global__ void throw_darts(curandState* states, unsigned* hits, int throws) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState local = states[i];
  unsigned count = 0;
  for (int k = 0; k < throws; ++k) {
    const float x = curand_uniform(&local), y = curand_uniform(&local);
    if (x * x + y * y <= 1.0f) ++count;
  }
  states[i] = local;
  for (int offset = 16; offset > 0; offset >>= 1) count += __shfl_down_sync(~0u, count, offset);
  if ((threadIdx.x & 31) == 0) atomicAdd(hits, count);
}

__global__ void call_option(double* sums, float spot, float strike, float rate, float sigma,
                            float years, int paths) {
  __shared__ double sum[128];
  curandStatePhilox4_32_10_t state;
  curand_init(1234, blockIdx.x * blockDim.x + threadIdx.x, 0, &state);
  const float drift = (rate - 0.5f * sigma * sigma) * years, spread = sigma * sqrtf(years);
  double mine = 0;
  for (int i = 0; i < paths; i += 4) {
    const float4 normal = curand_normal4(&state);
    mine += fmaxf(0, spot * expf(drift + spread * normal.x) - strike);
    mine += fmaxf(0, spot * expf(drift + spread * normal.y) - strike);
    mine += fmaxf(0, spot * expf(drift + spread * normal.z) - strike);
    mine += fmaxf(0, spot * expf(drift + spread * normal.w) - strike);
  }
  sum[threadIdx.x] = mine;
  for (int half = 64; half > 0; half >>= 1) {
    __syncthreads();
    if (threadIdx.x < half) sum[threadIdx.x] += sum[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = sum[0];
}

template <class State>
__global__ void moments(double* out, int n) {
  State state;
  curand_init(99, blockIdx.x * blockDim.x + threadIdx.x, 5, &state);
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = curand_normal_double(&state);
    sum += x, squares += x * x;
  }
  atomicAdd(&out[0], sum);
  atomicAdd(&out[1], squares);
  atomicAdd(&out[2], double(curand_poisson(&state, 3.0)));
  atomicAdd(&out[3], double(curand(&state) & 1));
}

template <class State>
bool is_normal() {
  Array<double> out(4);
  out.clear();
  moments<State><<<4, 64>>>(out, 100);
  const auto m = out.host();
  const double n = 4 * 64 * 100;
  return std::fabs(m[0] / n) < 0.03 && std::fabs(m[1] / n - 1) < 0.05 &&
         std::fabs(m[2] / 256 - 3) < 0.6 && std::fabs(m[3] / 256 - 0.5) < 0.15;
}

int main() {
  const int blocks = 8, threads = 128, throws = 100;
  Array<curandState> states(blocks * threads);
  Array<unsigned> hits(1);
  prepare<<<blocks, threads>>>(states, 42);
  unsigned last = 0;
  bool right = true;
  for (int again = 0; again < 2; ++again) {
    hits.clear();
    throw_darts<<<blocks, threads>>>(states, hits, throws);
    const unsigned count = hits.host()[0];
    const double pi = 4.0 * count / (blocks * threads * throws);
    right = right && std::fabs(pi - 3.14159265) < 0.03 && count != last;
    last = count;
  }
  const double spot = 100, strike = 95, rate = 0.05, sigma = 0.2, years = 1;
  const double d1 =
      (std::log(spot / strike) + (rate + sigma * sigma / 2) * years) / (sigma * std::sqrt(years));
  const double d2 = d1 - sigma * std::sqrt(years);
  auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  const double expected = spot * normal(d1) - strike * std::exp(-rate * years) * normal(d2);
  Array<double> sums(blocks);
  call_option<<<blocks, threads>>>(sums, 100, 95, 0.05f, 0.2f, 1, 200);
  double sum = 0;
  for (double one : sums.host()) sum += one;
  const double price = std::exp(-rate * years) * sum / (blocks * threads * 200);
  right = right && std::fabs(price - expected) < 0.2;
  right = right && is_normal<curandStateXORWOW_t>() && is_normal<curandStateMRG32k3a_t>() &&
          is_normal<curandStatePhilox4_32_10_t>();
  return finish("monte_carlo", right);
}
