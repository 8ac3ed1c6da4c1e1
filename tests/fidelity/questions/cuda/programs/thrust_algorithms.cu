// thrust on the device: bits of sums, order of equal keys, what is thrown.
#include "told.h"

#if __has_include(<thrust/device_vector.h>)
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/inner_product.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
#include <thrust/version.h>

namespace {

struct Square {
  __host__ __device__ float operator()(float x) const { return x * x; }
};
struct SmallPart {
  __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};
struct Plus {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

template <class T>
std::vector<T> host(const thrust::device_vector<T>& d) {
  std::vector<T> values(d.size());
  CHECK(cudaMemcpy(values.data(), thrust::raw_pointer_cast(d.data()), d.size() * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

}  // namespace

int main() {
  tell("THRUST_VERSION", THRUST_VERSION);
  std::vector<float> sums, inner, squares, scanned;
  Numbers numbers;
  std::vector<float> values(1000003);
  for (float& x : values) x = numbers.unit();
  for (int n : {1, 31, 257, 4096, 10000, 100003, 1000003}) {
    thrust::device_vector<float> d(values.begin(), values.begin() + n), s(n);
    sums.push_back(thrust::reduce(d.begin(), d.end()));
    sums.push_back(thrust::reduce(thrust::device, d.begin(), d.end(), 0.5f, Plus{}));
    inner.push_back(thrust::inner_product(d.begin(), d.end(), d.begin(), 0.0f));
    squares.push_back(thrust::transform_reduce(d.begin(), d.end(), Square{}, 0.0f, Plus{}));
    thrust::inclusive_scan(d.begin(), d.end(), s.begin());
    scanned.push_back(s[n - 1]);
  }
  tell_bits("sums", sums), tell_bits("inner products", inner), tell_bits("squares", squares), tell_bits("scans", scanned);
  std::vector<int> keys(3000);
  for (int& k : keys) k = static_cast<int>(numbers.word() % 1000);
  thrust::device_vector<int> d = keys, places(3000);
  thrust::sequence(places.begin(), places.end());
  thrust::sort_by_key(d.begin(), d.end(), places.begin());
  tell("sorted", host(d), 40), tell("sorted places", host(places), 40);
  d = keys;
  thrust::sequence(places.begin(), places.end());
  thrust::stable_sort_by_key(d.begin(), d.end(), places.begin(), SmallPart{});
  tell("sorted by own order", host(d), 40), tell("sorted by own order, places", host(places), 40);
  d = keys;
  thrust::sort(d.begin(), d.end());
  tell("distinct", thrust::unique(d.begin(), d.end()) - d.begin());
  try {
    thrust::device_vector<char> large(1ull << 50);
    tell("large", "was given");
  } catch (const std::exception& error) {
    tell("large", error.what());
  }
  tell_error("error afterwards", cudaGetLastError());
  return 0;
}
#else
int main() { tell("thrust", "is not there"); }
#endif
