// Templates: extended lambdas that go to kernels, packs, constexpr of the host in device code,
// concepts by traits, classes that both sides use.
//
// flags: --extended-lambda --expt-relaxed-constexpr
#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>

#include "sample.h"

template <class Function>
__global__ void for_each(int n, Function function) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    function(i);
}
template <class Function>
void parallel_for(int n, Function function) {
  for_each<<<(n + 127) / 128, 128>>>(n, function);
  CHECK(cudaGetLastError());
}

template <class T, int kSize>
struct Vector {
  T data[kSize];
  __host__ __device__ T& operator[](int i) { return data[i]; }
  __host__ __device__ const T& operator[](int i) const { return data[i]; }
  template <class U>
  __host__ __device__ auto dot(const Vector<U, kSize>& other) const {
    decltype(T() * U()) sum = 0;
#pragma unroll
    for (int i = 0; i < kSize; ++i) sum += data[i] * other[i];
    return sum;
  }
  __host__ __device__ friend Vector operator+(Vector a, const Vector& b) {
    for (int i = 0; i < kSize; ++i) a[i] += b[i];
    return a;
  }
};

constexpr int greatest(int a, int b) {
  return a > b ? a : b;
}
__host__ __device__ constexpr int prime(int i) {
  constexpr std::array<int, 4> primes = {2, 3, 5, 7};
  return primes[i % primes.size()];
}

template <class... T>
__global__ void sum_of_all(double* out, T... values) {
  *out = (double(values) + ... + 0.0);
}
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
__device__ T half_of(T value) {
  return value >> 1;
}
template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
__device__ T half_of(T value) {
  return value / 2;
}
template <class T>
__global__ void halve(T* data) {
  if constexpr (sizeof(T) == 8)
    data[threadIdx.x] = half_of(data[threadIdx.x]) + 100;
  else
    data[threadIdx.x] = half_of(data[threadIdx.x]);
}
template <template <class> class Functor, class T>
__global__ void transform(T* data) {
  data[threadIdx.x] = Functor<T>{}(data[threadIdx.x]);
}
template <class T>
struct Negate {
  __device__ T operator()(T value) const { return -value; }
};

class Scaler {
 public:
  explicit Scaler(float factor) : factor_(factor) {}
  void run(float* data, int n) {
    const float factor = factor_;
    parallel_for(n, [=] __device__(int i) { data[i] *= factor; });
    auto add = [=] __host__ __device__(int i) { data[i] += factor; };
    parallel_for(n, add);
  }
  float factor_;
};

int main() {
  const int n = 700;
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = i;
  Array<float> data(values);
  Scaler(3).run(data, n);
  const auto scaled = data.host();
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && scaled[i] == 3 * i + 3;

  Array<int> ints(n);
  int* p = ints;
  parallel_for(n, [=] __device__(int i) {
    auto square = [](int x) { return x * x; };
    p[i] = greatest(square(i % 10), 30) + prime(i);
  });
  const auto found = ints.host();
  for (int i = 0; i < n; ++i)
    right = right && found[i] == std::max(i % 10 * (i % 10), 30) + prime(i);

  using V = Vector<float, 3>;
  Array<V> vectors(std::vector<V>(64, V{{1, 2, 3}}));
  V* v = vectors;
  Array<double> dots(64), sum(1);
  double* d = dots;
  parallel_for(64, [v, d] __device__(int i) {
    d[i] = (v[i] + V{{float(i), 0, 0}}).dot(Vector<double, 3>{{1, 1, 0.5}});
  });
  const auto results = dots.host();
  for (int i = 0; i < 64; ++i) right = right && results[i] == 4.5 + i;
  sum_of_all<<<1, 1>>>((double*)sum, 1, 2.5f, 3LL, 'a', true);
  right = right && sum.host()[0] == 1 + 2.5 + 3 + 97 + 1;
  Array<int> whole(std::vector<int>{4, 5, -8, 9});
  Array<double> real(std::vector<double>{4, 5, -8, 9});
  halve<<<1, 4>>>((int*)whole);
  halve<double><<<1, 4>>>(real);
  transform<Negate, int><<<1, 4>>>(whole);
  right = right && whole.host() == std::vector<int>{-2, -2, 4, -4} &&
          real.host() == std::vector<double>{102, 102.5, 96, 104.5};
  return finish("templates_and_lambdas", right);
}
