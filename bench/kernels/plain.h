// The work of kernels.cu as a C++ program with OpenMP does it by hand.
#pragma once

namespace plain {

// c[i] = a[i] * b[i] + a[i] of n numbers.
void elementwise(const float* a, const float* b, float* c, int n);
// The sum of n numbers.
float sum(const float* a, int n);
// The sums of the first i + 1 of n numbers, in out[i].
void scan(const int* in, int* out, int n);
// c = a * b, n x n numbers in rows.
void product(const float* a, const float* b, float* c, int n);

}  // namespace plain
