// Asynchronous copies to shared memory whose data is used before anybody has waited for it.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include "run.h"

namespace cg = cooperative_groups;

__global__ void own_value(float* out, const float* in, bool wait) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&tile[i], &in[i], 4);
  __pipeline_commit();
  if (wait) __pipeline_wait_prior(0);
  out[i] = tile[i];  // BUG 1 race
}
__global__ void behind_a_barrier(float* out, const float* in, bool wait) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&tile[i], &in[i], 4);
  __pipeline_commit();
  if (wait) __pipeline_wait_prior(0);
  __syncthreads();
  out[i] = tile[63 - i];  // BUG 2 race
}
// All wait, but for themselves only.
__global__ void no_barrier(float* out, const float* in, bool wait) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&tile[i], &in[i], 4);
  __pipeline_commit();
  if (!wait) __syncthreads();
  __pipeline_wait_prior(0);
  if (wait) __syncthreads();
  out[i] = tile[63 - i];  // BUG 3 race
}
// Of two stages the newest is used.
__global__ void wrong_stage(float* out, const float* in, int left) {
  __shared__ float tile[2][64];
  const int i = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&tile[0][i], &in[i], 4);
  __pipeline_commit();
  for (int k = 0; k < 4; ++k) {
    __pipeline_memcpy_async(&tile[(k + 1) % 2][i], &in[(k + 1) * 64 + i], 4);  // BUG 4 race
    __pipeline_commit();
    __pipeline_wait_prior(left);
    __syncthreads();
    sum += tile[k % 2][63 - i];  // BUG 4 race
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  out[i] = sum;
}
__global__ void by_ptx(float4* out, const float4* in, bool wait, bool all) {
  __shared__ float4 tile[64];
  const int i = threadIdx.x;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[i]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(at), "l"(&in[i]) : "memory");
  if (!all) asm volatile("cp.async.commit_group;\n" ::: "memory");
  if (wait && all) asm volatile("cp.async.wait_all;\n" ::: "memory");
  if (wait && !all) asm volatile("cp.async.wait_group 0;\n" ::: "memory");
  __syncthreads();
  out[i] = tile[63 - i];  // BUG 5 race
}
__global__ void by_group(float* out, const float* in, bool wait) {
  __shared__ float tile[64];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in, sizeof(tile));
  if (wait)
    cg::wait(block);
  else
    block.sync();
  out[threadIdx.x] = tile[63 - threadIdx.x];  // BUG 6 race
}
// The buffer is written again while it is filled.
__global__ void written_again(float* out, const float* in, bool wait) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&tile[i], &in[i], 4);
  __pipeline_commit();
  if (wait) __pipeline_wait_prior(0);
  tile[i] = 1;  // BUG 7 race
  __pipeline_wait_prior(0);
  out[i] = tile[i];
}

float* floats(int count = 512) {
  return filled<float>(count);
}

const Case kCases[] = {
    {1, [] { own_value<<<2, 64>>>(floats(), floats(), false); }},
    {2, [] { behind_a_barrier<<<2, 64>>>(floats(), floats(), false); }},
    {3, [] { no_barrier<<<1, 64>>>(floats(), floats(), false); }},
    {4, [] { wrong_stage<<<1, 64>>>(floats(), floats(), 2); }},
    {5, [] { by_ptx<<<1, 64>>>(filled<float4>(64), filled<float4>(64), false, false); }},
    {6, [] { by_group<<<1, 64>>>(floats(), floats(), false); }},
    {7, [] { written_again<<<1, 64>>>(floats(), floats(), false); }},
    {0,
     [] {
       own_value<<<1, 64>>>(floats(), floats(), true);
       behind_a_barrier<<<1, 64>>>(floats(), floats(), true);
       no_barrier<<<1, 64>>>(floats(), floats(), true);
       wrong_stage<<<1, 64>>>(floats(), floats(), 1);
       by_ptx<<<1, 64>>>(filled<float4>(64), filled<float4>(64), true, false);
       by_ptx<<<1, 64>>>(filled<float4>(64), filled<float4>(64), true, true);
       by_group<<<1, 64>>>(floats(), floats(), true);
       written_again<<<1, 64>>>(floats(), floats(), true);
     }},
};

int main(int argc, char** argv) {
  return run_cases(argc, argv, kCases);
}
