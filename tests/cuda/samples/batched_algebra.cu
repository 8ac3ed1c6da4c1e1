// Algebra of many small problems: scalar products of rows, products of matrices and vectors,
// solving by Cholesky's and Gauss's methods in shared memory, with pivots found by shuffles.
#include "sample.h"

__global__ void scalar_products(const float* a, const float* b, float* out, int vectors,
                                int length) {
  __shared__ float accumulated[128];
  for (int vector = blockIdx.x; vector < vectors; vector += gridDim.x) {
    for (int i = threadIdx.x; i < 128; i += blockDim.x) {
      float sum = 0;
      for (int k = i; k < length; k += 128) sum += a[vector * length + k] * b[vector * length + k];
      accumulated[i] = sum;
    }
    for (int stride = 64; stride > 0; stride >>= 1) {
      __syncthreads();
      for (int i = threadIdx.x; i < stride; i += blockDim.x)
        accumulated[i] += accumulated[i + stride];
    }
    __syncthreads();
    if (threadIdx.x == 0) out[vector] = accumulated[0];
    __syncthreads();
  }
}

template <int kSize>
__global__ void cholesky(double* matrices) {
  __shared__ double a[kSize][kSize + 1];
  double* mine = matrices + blockIdx.x * kSize * kSize;
  const int t = threadIdx.x;
  for (int row = 0; row < kSize; ++row) a[row][t] = mine[row * kSize + t];
  for (int k = 0; k < kSize; ++k) {
    __syncthreads();
    if (t == k) a[k][k] = sqrt(a[k][k]);
    __syncthreads();
    if (t > k) a[t][k] /= a[k][k];
    __syncthreads();
    if (t > k)
      for (int j = k + 1; j <= t; ++j) a[t][j] -= a[t][k] * a[j][k];
  }
  __syncthreads();
  for (int row = 0; row < kSize; ++row) mine[row * kSize + t] = t <= row ? a[row][t] : 0;
}

// One warp solves one system of 32 equations; a lane holds a row.
__global__ void solve(const float* matrices, const float* sides, float* out) {
  constexpr unsigned kAll = 0xffffffff;
  const int lane = threadIdx.x;
  const int system = blockIdx.x * blockDim.y + threadIdx.y;
  float row[32], side = sides[system * 32 + lane];
#pragma unroll
  for (int j = 0; j < 32; ++j) row[j] = matrices[(system * 32 + lane) * 32 + j];
  int used = -1;
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    float best = used < 0 ? fabsf(row[k]) : -1;
    int pivot = lane;
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(kAll, best, step);
      const int other_lane = __shfl_xor_sync(kAll, pivot, step);
      if (other > best || (other == best && other_lane < pivot)) best = other, pivot = other_lane;
    }
    if (lane == pivot) used = k;
    const float factor = row[k] / __shfl_sync(kAll, row[k], pivot);
#pragma unroll
    for (int j = k; j < 32; ++j) {
      const float above = __shfl_sync(kAll, row[j], pivot);
      if (lane != pivot) row[j] -= factor * above;
    }
    const float above = __shfl_sync(kAll, side, pivot);
    if (lane != pivot) side -= factor * above;
  }
  float diagonal = 1;
#pragma unroll
  for (int k = 0; k < 32; ++k)
    if (used == k) diagonal = row[k];
  out[system * 32 + used] = side / diagonal;
}

int main() {
  Numbers numbers(173);
  const int vectors = 20, length = 300;
  std::vector<float> a(vectors * length), b(vectors * length);
  std::vector<double> products(vectors);
  for (int i = 0; i < vectors * length; ++i) {
    a[i] = numbers.real(-1, 1), b[i] = numbers.real(-1, 1);
    products[i / length] += double(a[i]) * b[i];
  }
  Array<float> da(a), db(b), out(vectors);
  scalar_products<<<8, 64>>>(da, db, out, vectors, length);
  bool right = all_close(out.host(), products, 1e-5);

  constexpr int kSize = 24, kCount = 5;
  std::vector<double> lower(kCount * kSize * kSize), symmetric(kCount * kSize * kSize);
  for (int m = 0; m < kCount; ++m) {
    double *l = &lower[m * kSize * kSize], *s = &symmetric[m * kSize * kSize];
    for (int i = 0; i < kSize; ++i)
      for (int j = 0; j <= i; ++j)
        l[i * kSize + j] = i == j ? 2 + numbers.real() : numbers.real(-1, 1);
    for (int i = 0; i < kSize; ++i)
      for (int j = 0; j < kSize; ++j)
        for (int k = 0; k < kSize; ++k) s[i * kSize + j] += l[i * kSize + k] * l[j * kSize + k];
  }
  Array<double> ds(symmetric);
  cholesky<kSize><<<kCount, kSize>>>(ds);
  right = right && all_close(ds.host(), lower, 1e-10);

  const int systems = 6;
  std::vector<float> matrices(systems * 1024), sides(systems * 32), known(systems * 32);
  for (float& one : known) one = float(int(numbers.next() % 21) - 10);
  for (float& one : matrices) one = numbers.real(-1, 1);
  for (int s = 0; s < systems; ++s)
    for (int i = 0; i < 32; ++i)
      for (int j = 0; j < 32; ++j) {
        if ((i + 5) % 32 == j)
          matrices[(s * 32 + i) * 32 + j] += 12;  // large ones are not on the diagonal
        sides[s * 32 + i] += matrices[(s * 32 + i) * 32 + j] * known[s * 32 + j];
      }
  Array<float> dm(matrices), dsides(sides), x(systems * 32);
  solve<<<systems / 2, dim3(32, 2)>>>(dm, dsides, x);
  return finish("batched_algebra", right && all_close(x.host(), known, 1e-3));
}
