// Prefix sums in shared memory: Hillis and Steele's with two buffers, Blelloch's without conflicts
// of banks, and one of an array of any length from blocks.
#include "sample.h"

constexpr int kBlock = 128;

__global__ void hillis_steele(const int* in, int* out, int n) {
  extern __shared__ int buffer[];
  int from = 0, to = 1;
  const int t = threadIdx.x;
  buffer[t] = t < n ? in[t] : 0;
  __syncthreads();
  for (int step = 1; step < n; step *= 2) {
    int value = buffer[from * blockDim.x + t];
    if (t >= step) value += buffer[from * blockDim.x + t - step];
    buffer[to * blockDim.x + t] = value;
    from = 1 - from, to = 1 - to;
    __syncthreads();
  }
  if (t < n) out[t] = buffer[from * blockDim.x + t];
}

__device__ __forceinline__ int padded(int i) {
  return i + (i >> 5);
}

// The exclusive sums of 2 * kBlock numbers a block.
__global__ void blelloch(const int* in, int* out, int* sums, int n) {
  __shared__ int tree[2 * kBlock + 2 * kBlock / 32];
  const int t = threadIdx.x, base = blockIdx.x * 2 * kBlock;
  for (int k = 0; k < 2; ++k) {
    const int i = base + t + k * kBlock;
    tree[padded(t + k * kBlock)] = i < n ? in[i] : 0;
  }
  int step = 1;
  for (int d = kBlock; d > 0; d >>= 1, step *= 2) {
    __syncthreads();
    if (t < d) tree[padded(step * (2 * t + 2) - 1)] += tree[padded(step * (2 * t + 1) - 1)];
  }
  if (t == 0) {
    if (sums) sums[blockIdx.x] = tree[padded(2 * kBlock - 1)];
    tree[padded(2 * kBlock - 1)] = 0;
  }
  for (int d = 1; d <= kBlock; d *= 2) {
    step >>= 1;
    __syncthreads();
    if (t < d) {
      const int left = padded(step * (2 * t + 1) - 1), right = padded(step * (2 * t + 2) - 1);
      const int swap = tree[left];
      tree[left] = tree[right];
      tree[right] += swap;
    }
  }
  __syncthreads();
  for (int k = 0; k < 2; ++k) {
    const int i = base + t + k * kBlock;
    if (i < n) out[i] = tree[padded(t + k * kBlock)];
  }
}

__global__ void add(int* out, const int* sums, int n) {
  __shared__ int before;
  if (threadIdx.x == 0) before = sums[blockIdx.x];
  __syncthreads();
  const int i = blockIdx.x * 2 * kBlock + threadIdx.x;
  if (i < n) out[i] += before;
  if (i + kBlock < n) out[i + kBlock] += before;
}

void scan(const int* in, int* out, int n) {
  const int blocks = (n + 2 * kBlock - 1) / (2 * kBlock);
  Array<int> sums(blocks), scanned(blocks);
  blelloch<<<blocks, kBlock>>>(in, out, sums, n);
  if (blocks == 1) return;
  scan(sums, scanned, blocks);
  add<<<blocks, kBlock>>>(out, scanned, n);
}

int main() {
  const int n = 2 * kBlock * 300 + 77;
  std::vector<int> values(n), expected(n);
  Numbers numbers(11);
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    values[i] = int(numbers.next() % 100) - 20;
    expected[i] = sum;
    sum += values[i];
  }
  Array<int> in(values), out(n), small(200);
  scan(in, out, n);
  bool right = out.host() == expected;
  hillis_steele<<<1, 224, 2 * 224 * sizeof(int)>>>(in, small, 200);
  const auto first = small.host();
  for (int i = 0; i < 200; ++i) right = right && first[i] == expected[i + 1];
  return finish("scan_blocks", right);
}
