// Kernels whose lanes give each other values, and loops whose threads step over a grid.
#include <cstdio>

#include <cuda_fp16.h>

constexpr unsigned kAll = 0xffffffffu;
constexpr int kWarps = 4;

__global__ void sums(const float* a, float* out, int n) {
  __shared__ float s[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += a[i];
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(kAll, v, offset);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(kAll, v, offset);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}

template <typename T, int Width>
__global__ void prefixes(const T* a, T* out, int n) {
  const int lane = threadIdx.x & 31;
  T v = a[threadIdx.x];
#pragma unroll
  for (int d = 1; d < Width; d <<= 1) {
    T o = __shfl_up_sync(kAll, v, d, Width);
    if (lane % Width >= d) v += o;
  }
  T last = __shfl_sync(kAll, v, Width - 1, Width);
  T turned = __shfl_sync(kAll, v, lane + 3);
  out[threadIdx.x] = v;
  out[threadIdx.x + n] = last * T(2);
  out[threadIdx.x + 2 * n] = turned;
}

__global__ void butterfly(int* out, int n) {
  int x = threadIdx.x, y = threadIdx.y;
  int t = y * blockDim.x + x;
  int v = t * 7 % 13;
  int least = v, most = v;
  for (int m = 1; m < 32; m *= 2) {
    least = min(least, __shfl_xor_sync(kAll, least, m));
    const int o = __shfl_xor_sync(kAll, most, m);
    if (o > most) most = o;
  }
  if (t < n) out[t] = least * 100 + most;
}

__global__ void branches(int* out, int n) {
  __shared__ int s[kWarps];
  const int t = threadIdx.x;
  const int warp = t / 32;
  int v = t;
  if (warp == 1) {
    v += __shfl_down_sync(kAll, v, 1);
    __syncwarp();
    v *= 2;
  } else if (warp == 2)
    v -= __shfl_up_sync(kAll, v, 2);
  else {
    for (int k = 0; k < n; ++k) {
      int o = __shfl_xor_sync(kAll, v, k);
      v = v * 3 + o;
    }
    if (t == 0) s[0] = v;
  }
  if (t % 32 == 31) s[warp] = v;
  __syncthreads();
  if ((t & 16) != 0) v += __shfl_xor_sync(0xffff0000u, v, 3); else v -= __shfl_xor_sync(0xffffu, v, 5);
  out[t] = v + s[(warp + 1) % kWarps];
}

__global__ void leaves(int* out, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  int v = t * t;
  v += __shfl_xor_sync(kAll, v, 8);
  out[t] = v;
  if (t < 32) {
    if (v % 3 == 0) return;
    v += __shfl_sync(__activemask(), v, 31);
    out[t] += v;
  }
}

__global__ void leaves_by_warps(int* out, int n) {
  int t = threadIdx.x;
  if (t / 32 >= n) return;
  int v = t * t;
  v += __shfl_xor_sync(kAll, v, 8);
  v = v - __shfl_sync(kAll, v, 0) + __shfl_sync(kAll, v, 31, 16);
  out[t] = v;
}

// Whole warps, but not a whole last one.
__global__ void part_of_warp(int* out) {
  int v = threadIdx.x + 1;
  const unsigned mask = 0xffu;
  if (threadIdx.x >= 32) v += __shfl_xor_sync(mask, v, 1);
  out[threadIdx.x] = v;
}

__global__ void divides(int* out, int n, int zero) {
  int v = threadIdx.x;
  if (zero != 0 && threadIdx.x < 32) {
    const int q = n / zero;
    for (int k = 0; k < n / 2; ++k) v += __shfl_xor_sync(kAll, v, 1);
    v += q;
  }
  out[threadIdx.x] = v;
}

template <class Index, class Bound>
__global__ void steps(long long* out, Index from, Bound to, int factor) {
  __shared__ int s[64];
  long long v = 0;
  int rounds = 0;
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  for (int i = from + (int)threadIdx.x * factor; i < to; i += blockDim.x) {
    v = v * 3 + i + s[63 - threadIdx.x];
    ++rounds;
  }
  for (long j = threadIdx.x; j < 900; j += 40) {
    long w = j;
    w *= 2;
    v += w;
  }
  out[threadIdx.x] = v;
  out[threadIdx.x + blockDim.x] = rounds;
}

__global__ void rows(const float* a, float* out, int n, int width) {
  int t = threadIdx.x;
  if (t < 48) {
    for (int row = t / 16; row < n; row += blockDim.x / 16) {
      float sum = 0;
      for (int c = 0; c < width; ++c) sum += a[row * width + c];
      if (t % 16 == 0) out[row] = sum;
    }
  }
  __syncthreads();
  out[n + t] = a[t];
}

__global__ void halves(const __half* a, __half* out) {
  __half v = a[threadIdx.x];
  v = __hadd(v, __shfl_xor_sync(kAll, v, 4));
  out[threadIdx.x] = v;
}

// Threads that ask for a value until another one has changed it: these stay on fibers.
__device__ int came;
__global__ void waits_for_blocks(int* out) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) {
    atomicAdd(&came, 1);
    while (atomicAdd(&came, 0) < gridDim.x) {
    }
  }
  __syncthreads();
  out[blockIdx.x * 32 + threadIdx.x] = s[31 - threadIdx.x] + came;
}
__global__ void waits_for_warp(int* out, int* flag) {
  int v = threadIdx.x;
  v += __shfl_xor_sync(kAll, v, 1);
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0)
      while (atomicAdd(flag, 0) == 0) {
      }
    __syncwarp();
    v += out[40];
  } else {
    out[threadIdx.x] = v;
    __syncwarp();
    if (threadIdx.x == 32) atomicAdd(flag, 1);
  }
  out[threadIdx.x + 64] = v;
}

template <class T>
void print(const char* name, const T* v, int n) {
  std::printf("%s", name);
  for (int i = 0; i < n; ++i) std::printf(" %g", double(v[i]));
  std::printf(" %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

template <class T>
T* memory(int n) {
  T* all = nullptr;
  cudaMallocManaged(&all, n * sizeof(T));
  for (int i = 0; i < n; ++i) all[i] = T(i % 11 - 3);
  return all;
}

int main() {
  float* a = memory<float>(20000);
  float* b = memory<float>(20000);
  int* c = memory<int>(4096);
  double* d = memory<double>(4096);
  long long* e = memory<long long>(4096);
  __half* h = memory<__half>(128);
  sums<<<3, 256>>>(a, b, 19999);
  print("sums", b, 3);
  sums<<<4, 96>>>(a, b, 70);
  print("few", b, 4);
  prefixes<float, 32><<<1, 64>>>(a, b, 64);
  print("prefixes", b, 192);
  prefixes<double, 8><<<1, 96>>>(d, d + 100, 96);
  print("by eights", d + 100, 288);
  butterfly<<<1, dim3(8, 12)>>>(c, 96);
  print("butterfly", c, 96);
  for (int n = 0; n < 4; ++n) {
    branches<<<1, 128>>>(c, n);
    print("branches", c, 128);
  }
  leaves_by_warps<<<1, 128>>>(c, 3);
  print("leaves by warps", c, 96);
  part_of_warp<<<1, 40>>>(c);
  print("part of a warp", c, 40);
  divides<<<1, 64>>>(c, 5, 0);
  print("no division", c, 64);
  divides<<<1, 64>>>(c, 5, 2);
  print("division", c, 64);
  steps<int, int><<<1, 64>>>(e, -20, 500, 3);
  print("steps", e, 128);
  steps<int, unsigned><<<1, 64>>>(e, 5, 500u, 300);
  print("unsigned steps", e, 128);
  steps<int, int><<<1, 64>>>(e, 2147483000, 2147483500, 5);
  print("large steps", e, 128);
  steps<int, long long><<<1, 64>>>(e, 2147483000, 2147483560, 1);
  print("long steps", e, 128);
  rows<<<1, 64>>>(a, b, 10, 7);
  print("rows", b, 74);
  waits_for_blocks<<<8, 32>>>(c);
  print("waits for blocks", c, 256);
  c[4000] = 0;
  waits_for_warp<<<1, 64>>>(c, c + 4000);
  print("waits for a warp", c, 128);
  halves<<<1, 64>>>(h, h + 64);
  std::printf("halves");
  cudaDeviceSynchronize();
  for (int i = 0; i < 64; ++i) std::printf(" %g", double(__half2float(h[64 + i])));
  std::printf("\n");
}
