// Products of matrices: tiles in shared memory of two sizes, and eight by eight results in the
// registers of a thread.
#include "sample.h"

template <int kTile>
__global__ void tiled(float* c, const float* a, const float* b, int m, int n, int k) {
  __shared__ float ta[kTile][kTile], tb[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int base = 0; base < k; base += kTile) {
    ta[threadIdx.y][threadIdx.x] =
        row < m && base + threadIdx.x < k ? a[row * k + base + threadIdx.x] : 0;
    tb[threadIdx.y][threadIdx.x] =
        column < n && base + threadIdx.y < k ? b[(base + threadIdx.y) * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// 64 by 64 results a block of 64 threads; sizes are multiples.
__global__ __launch_bounds__(64) void registers(float* __restrict__ c, const float* __restrict__ a,
                                                const float* __restrict__ b, int m, int n, int k) {
  constexpr int kSide = 64, kDepth = 8, kMine = 8;
  __shared__ __align__(16) float ta[kDepth][kSide], tb[kDepth][kSide];
  const int t = threadIdx.x, tx = t % 8, ty = t / 8;
  const int row0 = blockIdx.y * kSide, column0 = blockIdx.x * kSide;
  float sum[kMine][kMine] = {};
  for (int base = 0; base < k; base += kDepth) {
    const float4 first = *reinterpret_cast<const float4*>(&a[(row0 + t) * k + base]);
    const float4 second = *reinterpret_cast<const float4*>(&a[(row0 + t) * k + base + 4]);
    ta[0][t] = first.x, ta[1][t] = first.y, ta[2][t] = first.z, ta[3][t] = first.w;
    ta[4][t] = second.x, ta[5][t] = second.y, ta[6][t] = second.z, ta[7][t] = second.w;
    for (int d = 0; d < kDepth; ++d) tb[d][t] = b[(base + d) * n + column0 + t];
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      float left[kMine], right[kMine];
#pragma unroll
      for (int i = 0; i < kMine; i += 4) {
        *reinterpret_cast<float4*>(&left[i]) =
            *reinterpret_cast<const float4*>(&ta[d][ty * kMine + i]);
        *reinterpret_cast<float4*>(&right[i]) =
            *reinterpret_cast<const float4*>(&tb[d][tx * kMine + i]);
      }
#pragma unroll
      for (int i = 0; i < kMine; ++i)
#pragma unroll
        for (int j = 0; j < kMine; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < kMine; ++i)
    for (int j = 0; j < kMine; ++j)
      c[(row0 + ty * kMine + i) * n + column0 + tx * kMine + j] = sum[i][j];
}

int main() {
  const int m = 128, n = 192, k = 72;
  std::vector<float> a(m * k), b(k * n);
  std::vector<double> expected(m * n);
  Numbers numbers(59);
  for (float& one : a) one = numbers.real(-1, 1);
  for (float& one : b) one = numbers.real(-1, 1);
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < n; ++j) expected[i * n + j] += double(a[i * k + l]) * b[l * n + j];
  Array<float> da(a), db(b), c(m * n);
  bool right = true;
  tiled<16><<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(c, da, db, m, n, k);
  right = right && all_close(c.host(), expected, 1e-5);
  c.clear();
  tiled<32><<<dim3((n + 31) / 32, (m + 31) / 32), dim3(32, 32)>>>(c, da, db, m, n, k);
  right = right && all_close(c.host(), expected, 1e-5);
  c.clear();
  registers<<<dim3(n / 64, m / 64), 64>>>(c, da, db, m, n, k);
  return finish("matmul_tiled", right && all_close(c.host(), expected, 1e-5));
}
