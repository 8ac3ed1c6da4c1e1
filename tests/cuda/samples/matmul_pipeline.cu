// A product of matrices whose next tiles are on their way while this one is used: by the functions
// of cuda_pipeline.h, by cooperative groups' memcpy_async, and by cp.async.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include "sample.h"

namespace cg = cooperative_groups;
constexpr int kTile = 16, kStages = 3;

__global__ void primitives(float* c, const float* a, const float* b, int n) {
  __shared__ __align__(16) float ta[kStages][kTile][kTile], tb[kStages][kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty, column = blockIdx.x * kTile + tx;
  const int tiles = n / kTile;
  auto fetch = [&](int tile) {
    if (tile < tiles && tx % 4 == 0) {  // 16 bytes a thread
      __pipeline_memcpy_async(&ta[tile % kStages][ty][tx], &a[row * n + tile * kTile + tx], 16);
      __pipeline_memcpy_async(&tb[tile % kStages][ty][tx], &b[(tile * kTile + ty) * n + column],
                              16);
    }
    __pipeline_commit();
  };
  for (int stage = 0; stage < kStages - 1; ++stage) fetch(stage);
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + kStages - 1);
    __pipeline_wait_prior(kStages - 1);
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += ta[tile % kStages][ty][i] * tb[tile % kStages][i][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void groups(float* c, const float* a, const float* b, int n) {
  __shared__ __align__(16) float ta[2][kTile * kTile], tb[2][kTile * kTile];
  auto block = cg::this_thread_block();
  const int tx = threadIdx.x, ty = threadIdx.y;
  auto fetch = [&](int tile) {
    for (int r = 0; r < kTile; ++r) {
      cg::memcpy_async(block, &ta[tile & 1][r * kTile],
                       &a[(blockIdx.y * kTile + r) * n + tile * kTile], sizeof(float) * kTile);
      cg::memcpy_async(block, &tb[tile & 1][r * kTile], size_t{kTile},
                       &b[(tile * kTile + r) * n + blockIdx.x * kTile], size_t{kTile});
    }
  };
  fetch(0);
  float sum = 0;
  for (int tile = 0; tile < n / kTile; ++tile) {
    cg::wait(block);
    block.sync();
    if ((tile + 1) * kTile < n) fetch(tile + 1);
    for (int i = 0; i < kTile; ++i)
      sum += ta[tile & 1][ty * kTile + i] * tb[tile & 1][i * kTile + tx];
    block.sync();
  }
  c[(blockIdx.y * kTile + ty) * n + blockIdx.x * kTile + tx] = sum;
}

__device__ void copy16(void* to, const void* from, bool there) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(address), "l"(from),
               "r"(bytes));
}

// Shifts rows by tiles; what lies outside is cleared by the copy.
__global__ void shift(float4* out, const float4* in, int n) {
  __shared__ float4 tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x, from = i - 10;
  copy16(&tile[threadIdx.x], from >= 0 ? in + from : in, from >= 0);
  asm volatile("cp.async.commit_group;\n" ::: "memory");
  asm volatile("cp.async.wait_group 0;\n" ::: "memory");
  __syncthreads();
  if (i < n) out[i ^ 1] = tile[threadIdx.x ^ 1];
}

int main() {
  const int n = 96;
  std::vector<float> a(n * n), b(n * n), expected(n * n);
  Numbers numbers(61);
  for (float& one : a) one = float(numbers.next() % 16);
  for (float& one : b) one = float(numbers.next() % 16);
  for (int i = 0; i < n; ++i)
    for (int l = 0; l < n; ++l)
      for (int j = 0; j < n; ++j) expected[i * n + j] += a[i * n + l] * b[l * n + j];
  Array<float> da(a), db(b), c(n * n);
  const dim3 grid(n / kTile, n / kTile), block(kTile, kTile);
  primitives<<<grid, block>>>(c, da, db, n);
  bool right = c.host() == expected;
  c.clear();
  groups<<<grid, block>>>(c, da, db, n);
  right = right && c.host() == expected;
  std::vector<float4> line(128);
  for (int i = 0; i < 128; ++i) line[i] = make_float4(i, i, i, i + 0.5f);
  Array<float4> in(line), out(128);
  shift<<<2, 64>>>(out, in, 128);
  const auto moved = out.host();
  for (int i = 0; i < 128; ++i) right = right && moved[i].w == (i < 10 ? 0 : i - 10 + 0.5f);
  return finish("matmul_pipeline", right);
}
