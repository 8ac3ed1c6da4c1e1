// What is right, in the ways in which threads are ordered: groups, locks, named barriers, flags,
// pipelines.
#include <cstdio>

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
__global__ void tiles(int* out) {
  __shared__ int v[128];
  auto t = cg::tiled_partition<32>(cg::this_thread_block());
  v[threadIdx.x] = threadIdx.x;
  t.sync();
  out[threadIdx.x] = v[threadIdx.x ^ 1];
}
__global__ void coalesced(int* out) {
  __shared__ int v[32];
  if (threadIdx.x % 3 == 0) {
    auto g = cg::coalesced_threads();
    v[g.thread_rank()] = g.thread_rank();
    g.sync();
    out[threadIdx.x] = v[(g.thread_rank() + 1) % g.size()];
  }
}
__global__ void grid(int* data, int n) {
  auto g = cg::this_grid();
  int i = g.thread_rank();
  data[i] = i;
  g.sync();
  int x = data[(i + 37) % n];
  g.sync();
  data[i] = x;
}
__global__ void locked(int* lock, int* value) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *value += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
__global__ void named(int* out) {
  __shared__ int v[64];
  if (threadIdx.x < 64) {
    v[threadIdx.x] = threadIdx.x;
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = v[63 - threadIdx.x];
  }
}
__global__ void producer(int* out) {
  __shared__ int v[32];
  if (threadIdx.x < 32) {
    v[threadIdx.x] = threadIdx.x * 2;
    asm volatile("bar.arrive 2, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
    out[threadIdx.x - 32] = v[63 - threadIdx.x];
  }
}
__global__ void flag(volatile int* ready, int* data, int* out) {
  if (blockIdx.x == 0) {
    *data = 3;
    __threadfence();
    *ready = 1;
  } else {
    while (*ready == 0) {
    }
    *out = *data;
  }
}
__global__ void warp_reduce(float* out, int n) {
  float v = threadIdx.x;
  unsigned mask = __ballot_sync(0xffffffff, threadIdx.x < n);
  if (threadIdx.x < n) {
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(mask, v, o);
    if (threadIdx.x == 0) *out = v;
  }
}
__global__ void block_reduce(float* out) {
  static __shared__ float s[32];
  float v = threadIdx.x;
  int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
  if (lane == 0) s[w] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? s[lane] : 0;
  if (w == 0)
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}
__global__ void pipe(float* out, const float* in, int n) {
  __shared__ float t[2][64];
  __pipeline_memcpy_async(&t[0][threadIdx.x], &in[threadIdx.x], 4);
  __pipeline_commit();
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    if (k + 1 < n)
      __pipeline_memcpy_async(&t[(k + 1) & 1][threadIdx.x], &in[(k + 1) * 64 + threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += t[k & 1][63 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
__device__ double atomicAddOld(double* address, double val) {
  unsigned long long* a = (unsigned long long*)address;
  unsigned long long old = *a, assumed;
  do {
    assumed = old;
    old = atomicCAS(a, assumed, __double_as_longlong(val + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}
__global__ void dbl(double* x) {
  atomicAddOld(x, 1.0);
}
__global__ void done_flag(int* found, const int* in) {
  if (in[threadIdx.x] == 3) *found = 1;
}
struct Big {
  float a[9];
};
__global__ void structs(Big* b) {
  Big x;
  for (int i = 0; i < 9; ++i) x.a[i] = i;
  b[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
__global__ void bits(unsigned char* m) {
  m[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
__constant__ float table[16] = {1, 2, 3};
__device__ const int lut[4] = {1, 2, 3, 4};
__global__ void consts(float* o) {
  o[threadIdx.x] = table[threadIdx.x] + lut[threadIdx.x & 3];
}
int main() {
  int* d;
  cudaMallocManaged(&d, 1 << 16);
  memset(d, 0, 1 << 16);
  tiles<<<2, 128>>>(d);
  coalesced<<<1, 32>>>(d);
  int n = 256;
  void* args[] = {&d, &n};
  cudaLaunchCooperativeKernel((void*)grid, 4, 64, args, 0, 0);
  memset(d, 0, 1 << 16);
  locked<<<8, 32>>>(d, d + 1);
  named<<<1, 128>>>(d + 64);
  producer<<<1, 64>>>(d + 64);
  memset(d, 0, 1 << 16);
  flag<<<2, 1>>>(d, d + 1, d + 2);
  warp_reduce<<<1, 32>>>((float*)d, 20);
  block_reduce<<<3, 256>>>((float*)d);
  block_reduce<<<3, 96>>>((float*)d);
  pipe<<<1, 64>>>((float*)d, (float*)(d + 1024), 4);
  dbl<<<4, 64>>>((double*)d);
  done_flag<<<1, 64>>>(d + 4, d + 64);
  structs<<<2, 32>>>((Big*)d);
  bits<<<2, 100>>>((unsigned char*)d);
  consts<<<1, 16>>>((float*)d);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaFree(d);
}
