#include "plain.h"

#include <algorithm>
#include <vector>

#include <omp.h>

namespace plain {

void elementwise(const float* a, const float* b, float* c, int n) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) c[i] = a[i] * b[i] + a[i];
}

float sum(const float* a, int n) {
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += a[i];
  return sum;
}

// Each thread scans its part; then it adds the sum of the parts before.
void scan(const int* in, int* out, int n) {
  std::vector<int> sums(static_cast<std::size_t>(omp_get_max_threads()) + 1, 0);
#pragma omp parallel
  {
    const int threads = omp_get_num_threads();
    const int number = omp_get_thread_num();
    const int part = (n + threads - 1) / threads;
    const int begin = std::min(n, number * part);
    const int end = std::min(n, begin + part);
    int sum = 0;
    for (int i = begin; i < end; ++i) out[i] = sum += in[i];
    sums[static_cast<std::size_t>(number) + 1] = sum;
#pragma omp barrier
    int before = 0;
    for (int i = 0; i <= number; ++i) before += sums[static_cast<std::size_t>(i)];
    if (before != 0)
      for (int i = begin; i < end; ++i) out[i] += before;
  }
}

void product(const float* a, const float* b, float* c, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    float* row = c + i * n;
    std::fill(row, row + n, 0.0F);
    for (int k = 0; k < n; ++k) {
      const float one = a[i * n + k];
      for (int j = 0; j < n; ++j) row[j] += one * b[k * n + j];
    }
  }
}

}  // namespace plain
