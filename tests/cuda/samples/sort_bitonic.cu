// Keys with values, sorted by a bitonic network: in shared memory while steps are short.
#include "sample.h"

constexpr unsigned kShared = 512;

__device__ inline void compare(unsigned& key_a, unsigned& value_a, unsigned& key_b,
                               unsigned& value_b, bool up) {
  if ((key_a > key_b) == up) {
    unsigned swap = key_a;
    key_a = key_b, key_b = swap;
    swap = value_a;
    value_a = value_b, value_b = swap;
  }
}

__global__ __launch_bounds__(kShared / 2) void in_blocks(unsigned* keys, unsigned* values) {
  __shared__ unsigned k[kShared], v[kShared];
  const unsigned t = threadIdx.x, base = blockIdx.x * kShared;
  k[t] = keys[base + t], v[t] = values[base + t];
  k[t + kShared / 2] = keys[base + t + kShared / 2];
  v[t + kShared / 2] = values[base + t + kShared / 2];
  for (unsigned size = 2; size <= kShared; size <<= 1)
    for (unsigned step = size / 2; step > 0; step >>= 1) {
      __syncthreads();
      const unsigned at = 2 * t - (t & (step - 1));
      const bool up = ((base + at) & size) == 0;
      compare(k[at], v[at], k[at + step], v[at + step], up);
    }
  __syncthreads();
  keys[base + t] = k[t], values[base + t] = v[t];
  keys[base + t + kShared / 2] = k[t + kShared / 2];
  values[base + t + kShared / 2] = v[t + kShared / 2];
}

__global__ void between_blocks(unsigned* keys, unsigned* values, unsigned size, unsigned step) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned at = 2 * t - (t & (step - 1));
  compare(keys[at], values[at], keys[at + step], values[at + step], (at & size) == 0);
}

__global__ void within_blocks(unsigned* keys, unsigned* values, unsigned size) {
  __shared__ unsigned k[kShared], v[kShared];
  const unsigned base = blockIdx.x * kShared;
  for (unsigned i = threadIdx.x; i < kShared; i += blockDim.x)
    k[i] = keys[base + i], v[i] = values[base + i];
  for (unsigned step = kShared / 2; step > 0; step >>= 1) {
    __syncthreads();
    const unsigned at = 2 * threadIdx.x - (threadIdx.x & (step - 1));
    compare(k[at], v[at], k[at + step], v[at + step], ((base + at) & size) == 0);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kShared; i += blockDim.x)
    keys[base + i] = k[i], values[base + i] = v[i];
}

int main() {
  const unsigned n = 1 << 13;
  std::vector<unsigned> keys(n), values(n);
  Numbers numbers(19);
  for (unsigned i = 0; i < n; ++i) keys[i] = numbers.next() % 5000, values[i] = i;
  Array<unsigned> k(keys), v(values);
  in_blocks<<<n / kShared, kShared / 2>>>(k, v);
  for (unsigned size = 2 * kShared; size <= n; size <<= 1) {
    for (unsigned step = size / 2; step >= kShared; step >>= 1)
      between_blocks<<<n / kShared, kShared / 2>>>(k, v, size, step);
    within_blocks<<<n / kShared, kShared / 2>>>(k, v, size);
  }
  const auto sorted = k.host(), order = v.host();
  bool right = true;
  std::vector<bool> seen(n);
  for (unsigned i = 0; i < n && right; ++i) {
    right = (i == 0 || sorted[i - 1] <= sorted[i]) && order[i] < n && !seen[order[i]] &&
            keys[order[i]] == sorted[i];
    if (right) seen[order[i]] = true;
  }
  return finish("sort_bitonic", right);
}
