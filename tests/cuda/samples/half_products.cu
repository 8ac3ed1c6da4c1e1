// Products of vectors of half and bfloat16 by their pairs, with operators and with intrinsics.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "sample.h"

__device__ void reduce_in_shared(half2* v) {
  for (int half_of = blockDim.x / 2; half_of > 0; half_of >>= 1) {
    if (threadIdx.x < half_of) v[threadIdx.x] = __hadd2(v[threadIdx.x], v[threadIdx.x + half_of]);
    __syncthreads();
  }
}

template <bool kOperators>
__global__ void dot(const half2* a, const half2* b, float* result, size_t n) {
  __shared__ half2 sums[64];
  half2 mine = __float2half2_rn(0.f);
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (kOperators)
      mine = mine + a[i] * b[i];
    else
      mine = __hfma2(a[i], b[i], mine);
  }
  sums[threadIdx.x] = mine;
  __syncthreads();
  reduce_in_shared(sums);
  if (threadIdx.x == 0) atomicAdd(result, __low2float(sums[0]) + __high2float(sums[0]));
}

__global__ void polynomial(__nv_bfloat162* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __nv_bfloat162 x = values[i];
  const __nv_bfloat162 two = __float2bfloat162_rn(2.0f), one = __floats2bfloat162_rn(1.0f, -1.0f);
  __nv_bfloat162 y = __hfma2(x, two, one);
  y = __hmul2(y, x);
  if (__hbgt2(y, __float2bfloat162_rn(0))) y = __hneg2(y);
  values[i] = __hmax2(y, __float2bfloat162_rn(-8));
}

__global__ void normalize(half* values, int n) {
  half most = __float2half(-65504.0f);
  for (int i = threadIdx.x; i < n; i += 32) most = __hmax(most, values[i]);
  for (int step = 16; step > 0; step /= 2) most = __hmax(most, __shfl_xor_sync(~0u, most, step));
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += __half2float(hexp(__hsub(values[i], most)));
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  for (int i = threadIdx.x; i < n; i += 32)
    values[i] = __float2half_rn(__expf(__half2float(values[i] - most)) / sum);
}

int main() {
  const int n = 4096;
  std::vector<half2> a(n), b(n);
  Numbers numbers(83);
  double expected = 0;
  for (int i = 0; i < n; ++i) {
    const float x = int(numbers.next() % 3) - 1, y = int(numbers.next() % 3) - 1;
    a[i] = __floats2half2_rn(x, y), b[i] = __floats2half2_rn(y, 1);
    expected += x * y + y;
  }
  Array<half2> da(a), db(b);
  Array<float> sum(1);
  sum.clear();
  dot<true><<<4, 64>>>(da, db, sum, n);
  bool right = sum.host()[0] == expected;
  sum.clear();
  dot<false><<<4, 64>>>(da, db, sum, n);
  right = right && sum.host()[0] == expected;

  std::vector<__nv_bfloat162> x(100);
  for (int i = 0; i < 100; ++i) x[i] = __floats2bfloat162_rn((i - 50) / 16.0f, (i - 20) / 8.0f);
  Array<__nv_bfloat162> dx(x);
  polynomial<<<1, 128>>>(dx, 100);
  const auto y = dx.host();
  auto round = [](float value) { return __bfloat162float(__float2bfloat16(value)); };
  for (int i = 0; i < 100; ++i) {
    const float u = (i - 50) / 16.0f, v = (i - 20) / 8.0f;
    float p = round(round(2 * u + 1) * u), q = round(round(2 * v - 1) * v);
    if (p > 0 && q > 0) p = -p, q = -q;
    right = right && __low2float(y[i]) == fmaxf(p, -8) && __high2float(y[i]) == fmaxf(q, -8);
  }
  std::vector<half> logits(100);
  double total = 0, checked = 0;
  for (int i = 0; i < 100; ++i) logits[i] = __float2half(i % 7), total += std::exp(i % 7 - 6.0);
  Array<half> dl(logits);
  normalize<<<1, 32>>>(dl, 100);
  const auto p = dl.host();
  for (int i = 0; i < 100; ++i) {
    checked += __half2float(p[i]);
    right = right && close(__half2float(p[i]), std::exp(i % 7 - 6.0) / total, 1e-3);
  }
  return finish("half_products", right && std::fabs(checked - 1) < 1e-2);
}
