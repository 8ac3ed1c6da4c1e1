// Barriers and warp functions that not all come to, and memory that is not given back.
#include <cooperative_groups.h>

#include "run.h"

namespace cg = cooperative_groups;

__global__ void two_barriers(int* out) {
  if (threadIdx.x < 32)
    __syncthreads();  // BUG 1 barrier in divergent code
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void early_return(int* out, int n) {
  if (threadIdx.x >= n) return;
  out[threadIdx.x] = 1;
  __syncthreads();  // BUG 2 barrier in divergent code
  out[threadIdx.x] += 1;
}
__global__ void in_loop(int* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    out[i] = i;
    __syncthreads();  // BUG 3 barrier in divergent code
  }
}
__global__ void shuffle_absent(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x < 16)
    value = __shfl_down_sync(0x0000ffff, value, 8, 32);  // BUG 4 warp function
  out[threadIdx.x] = value;
}
__global__ void full_mask_in_branch(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x % 2 == 0)
    value = __shfl_xor_sync(0xffffffff, value, 2);  // BUG 5 warp function
  else
    __syncthreads();  // BUG 5 barrier in divergent code
  if (threadIdx.x % 2 == 0) __syncthreads();
  out[threadIdx.x] = value;
}
__global__ void not_named(int* out) {
  out[threadIdx.x] = __ballot_sync(0x0000ffff, threadIdx.x < 40);  // BUG 6 warp function
}
__global__ void tile_sum(int* out, bool wait) {
  __shared__ int values[64];
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  values[threadIdx.x] = threadIdx.x;  // BUG 7 race
  if (wait) tile.sync();
  out[threadIdx.x] = values[threadIdx.x ^ 1];
}
__global__ void plain(int* out) {
  int sum = threadIdx.x;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  sum = __shfl_sync(0xffffffff, sum, 0);
  __syncthreads();
  out[threadIdx.x] = sum;
}
__global__ void half_warp(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x < 16) value = __shfl_down_sync(0x0000ffff, value, 8, 16);
  __syncthreads();
  out[threadIdx.x] = value + __popc(__activemask());
}
__global__ void odd_block(int* out) {
  auto block = cg::this_thread_block();
  block.sync();
  out[threadIdx.x] = __syncthreads_count(threadIdx.x > 3);
}

const Case kCases[] = {
    {1, [] { two_barriers<<<1, 64>>>(filled<int>(64)); }},
    {2, [] { early_return<<<1, 64>>>(filled<int>(64), 50); }},
    {3, [] { in_loop<<<1, 64>>>(filled<int>(100), 100); }},
    {4, [] { shuffle_absent<<<1, 32>>>(filled<int>(32)); }},
    {5, [] { full_mask_in_branch<<<1, 32>>>(filled<int>(32)); }},
    {6, [] { not_named<<<1, 32>>>(filled<int>(32)); }},
    {7, [] { tile_sum<<<1, 64>>>(filled<int>(64), false); }},
    {8,
     [] {
       int* kept = nullptr;
       cudaMalloc(&kept, 400);  // BUG 8 leak
       plain<<<1, 32>>>(kept);
     }},
    {9,
     [] {
       int* kept = nullptr;
       cudaMallocManaged(&kept, 400);  // BUG 9 leak
       plain<<<1, 32>>>(kept);
     }},
    {0,
     [] {
       plain<<<2, 64>>>(filled<int>(64));
       half_warp<<<1, 32>>>(filled<int>(32));
       tile_sum<<<1, 64>>>(filled<int>(64), true);
       early_return<<<1, 64>>>(filled<int>(64), 64);
       in_loop<<<1, 64>>>(filled<int>(128), 128);
       odd_block<<<1, 37>>>(filled<int>(37));
     }},
};

int main(int argc, char** argv) {
  return run_cases(argc, argv, kCases);
}
