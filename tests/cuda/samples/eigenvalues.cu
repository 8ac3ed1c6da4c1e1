// All eigenvalues of a symmetric matrix with three diagonals, by bisection: a thread for each
// value.
#include <algorithm>

#include "sample.h"

template <class T>
__device__ int below(const T* diagonal, const T* beside, int n, T x) {
  int count = 0;
  T delta = 1;
  for (int i = 0; i < n; ++i) {
    delta = diagonal[i] - x - (i > 0 ? beside[i - 1] * beside[i - 1] / delta : T(0));
    if (delta == 0) delta = T(1e-30);
    count += delta < 0;
  }
  return count;
}

template <class T>
__global__ void bisect(const T* diagonal, const T* beside, T* values, int n, T low, T high,
                       T precision) {
  extern __shared__ __align__(sizeof(double)) unsigned char memory[];
  T* d = reinterpret_cast<T*>(memory);
  T* b = d + n;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    d[i] = diagonal[i], b[i] = i + 1 < n ? beside[i] : T(0);
  __syncthreads();
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  while (high - low > precision) {
    const T middle = low + (high - low) / 2;
    if (below(d, b, n, middle) > k)
      high = middle;
    else
      low = middle;
  }
  values[k] = (low + high) / 2;
}

template <class T>
bool test(T precision) {
  const int n = 60;
  std::vector<T> diagonal(n, T(2)), beside(n, T(-1)), expected(n);
  for (int i = 0; i < n; ++i) expected[i] = T(2 - 2 * std::cos((i + 1) * M_PI / (n + 1)));
  Array<T> d(diagonal), b(beside), values(n);
  bisect<T><<<2, 32, 2 * n * sizeof(T)>>>(d, b, values, n, T(-0.5), T(4.5), precision);
  return all_close(values.host(), expected, 4 * precision);
}

int main() {
  return finish("eigenvalues", test<float>(2e-6f) && test<double>(1e-12));
}
