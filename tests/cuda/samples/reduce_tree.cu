// Sums, minima and maxima of an array by a tree in shared memory, a partial result for each block.
#include <climits>

#include "sample.h"

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Least {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Most {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <class T, unsigned kBlock, class Combine>
__global__ void reduce(const T* in, T* out, unsigned n, T neutral, Combine combine) {
  __shared__ T tree[kBlock];
  const unsigned t = threadIdx.x;
  T mine = neutral;
  for (unsigned i = blockIdx.x * kBlock * 2 + t; i < n; i += kBlock * 2 * gridDim.x) {
    mine = combine(mine, in[i]);
    if (i + kBlock < n) mine = combine(mine, in[i + kBlock]);
  }
  tree[t] = mine;
  __syncthreads();
#pragma unroll
  for (unsigned half = kBlock / 2; half > 0; half >>= 1) {
    if (t < half) tree[t] = combine(tree[t], tree[t + half]);
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = tree[0];
}

// The size of a block is known when the program runs only.
template <class T>
__global__ void interleaved(const T* in, T* out, unsigned n) {
  extern __shared__ unsigned char bytes[];
  T* tree = reinterpret_cast<T*>(bytes);
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  tree[threadIdx.x] = i < n ? in[i] : T(0);
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    const unsigned at = 2 * step * threadIdx.x;
    if (at + step < blockDim.x) tree[at] += tree[at + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = tree[0];
}

template <class T, class Combine>
T run(const Array<T>& in, unsigned n, T neutral, Combine combine) {
  constexpr unsigned kBlocks = 16;
  Array<T> partial(kBlocks), result(1);
  reduce<T, 256><<<kBlocks, 256>>>(in, partial, n, neutral, combine);
  reduce<T, 64><<<1, 64>>>(partial, result, kBlocks, neutral, combine);
  return result.host()[0];
}

int main() {
  const unsigned n = 50000 + 17;
  std::vector<int> ints(n);
  std::vector<double> reals(n);
  Numbers numbers;
  long long sum = 0;
  int least = INT_MAX, most = INT_MIN;
  double real_sum = 0;
  for (unsigned i = 0; i < n; ++i) {
    ints[i] = int(numbers.next() % 20001) - 10000;
    reals[i] = numbers.real();
    sum += ints[i];
    least = std::min(least, ints[i]);
    most = std::max(most, ints[i]);
    real_sum += reals[i];
  }
  Array<int> a(ints);
  Array<double> b(reals);
  bool right = run(a, n, 0, Sum()) == sum && run(a, n, INT_MAX, Least()) == least &&
               run(a, n, INT_MIN, Most()) == most && close(run(b, n, 0.0, Sum()), real_sum, 1e-12);
  const unsigned blocks = (n + 191) / 192;
  Array<int> partial(blocks);
  interleaved<<<blocks, 192, 192 * sizeof(int)>>>((const int*)a, (int*)partial, n);
  long long total = 0;
  for (int one : partial.host()) total += one;
  right = right && total == sum;
  return finish("reduce_tree", right);
}
