// Algorithms of Thrust on vectors of the device: transforms, sums, sorts by keys, scans,
// unique runs.
// needs: nvidia-cuda-cccl
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>

#include "sample.h"

struct Square {
  __host__ __device__ long long operator()(int x) const { return (long long)x * x; }
};

int main() {
  const int n = 2000;
  thrust::host_vector<int> keys(n);
  Numbers numbers(109);
  for (int i = 0; i < n; ++i) keys[i] = numbers.next() % 100;
  thrust::device_vector<int> k = keys, v(n);
  thrust::sequence(v.begin(), v.end());
  const int sum = thrust::reduce(k.begin(), k.end());
  const long long squares =
      thrust::transform_reduce(k.begin(), k.end(), Square(), 0LL, thrust::plus<long long>());
  thrust::stable_sort_by_key(k.begin(), k.end(), v.begin());
  thrust::device_vector<int> unique(n), counts(n);
  auto ends = thrust::reduce_by_key(k.begin(), k.end(), thrust::constant_iterator<int>(1),
                                    unique.begin(), counts.begin());
  const int runs = int(ends.first - unique.begin());
  thrust::device_vector<int> starts(n);
  thrust::exclusive_scan(counts.begin(), counts.begin() + runs, starts.begin());
  thrust::host_vector<int> sorted = k, order = v, c = counts, s = starts, u = unique;
  int expected_sum = 0;
  long long expected_squares = 0;
  for (int key : keys) expected_sum += key, expected_squares += key * key;
  bool right = sum == expected_sum && squares == expected_squares;
  for (int i = 0; i < n; ++i)
    right = right && sorted[i] == keys[order[i]] &&
            (i == 0 || sorted[i - 1] < sorted[i] ||
             (sorted[i - 1] == sorted[i] && order[i - 1] < order[i]));
  for (int r = 0; r < runs; ++r)
    right = right && sorted[s[r]] == u[r] && sorted[s[r] + c[r] - 1] == u[r];
  return finish("thrust_algorithms", right && s[runs - 1] + c[runs - 1] == n);
}
