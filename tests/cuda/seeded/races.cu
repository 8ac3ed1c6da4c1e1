// Races in shared and in global memory, and shared memory that nobody wrote.
#include "run.h"

__global__ void reverse(int* data, bool wait) {
  __shared__ int tile[256];
  int i = threadIdx.x;
  tile[i] = data[i];  // BUG 1 race
  if (wait) __syncthreads();
  data[i] = tile[255 - i];
}
__global__ void tree(float* out, const float* in, bool wait) {
  __shared__ float sums[256];
  int i = threadIdx.x;
  sums[i] = in[i];
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (i < half) sums[i] += sums[i + half];  // BUG 2 race
    if (wait) __syncthreads();
  }
  if (i == 0) *out = sums[0];
}
// The warp that is left runs without barriers, as before Volta.
__global__ void warp_tail(float* out, bool wait) {
  __shared__ volatile float sums[64];
  int i = threadIdx.x;
  sums[i] = 1.0f;
  __syncthreads();
  if (i < 32) {
    for (int half = 32; half > 0; half /= 2) {
      float other = i < half ? sums[i + half] : 0.0f;
      if (wait) __syncwarp();
      if (i < half) sums[i] = sums[i] + other;  // BUG 3 race
      if (wait) __syncwarp();
    }
  }
  if (i == 0) *out = sums[0];
}
__global__ void reused_tile(float* out, const float* in, int steps, bool wait) {
  __shared__ float tile[64];
  float sum = 0;
  for (int k = 0; k < steps; ++k) {
    tile[threadIdx.x] = in[k * 64 + threadIdx.x];  // BUG 4 race
    __syncthreads();
    sum += tile[(threadIdx.x + 33) % 64];
    if (wait) __syncthreads();
  }
  out[threadIdx.x] = sum;
}
__global__ void one_counter(int* counter, bool atomic) {
  if (atomic)
    atomicAdd(counter, 1);
  else
    *counter += 1;  // BUG 5 race
}
__global__ void histogram(int* bins, const unsigned char* data, int n, bool atomic) {
  __shared__ int own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (atomic)
      atomicAdd(&own[data[i] % 16], 1);
    else
      own[data[i] % 16]++;  // BUG 6 race
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
__global__ void overlapping(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) data[i] = data[i + 1];  // BUG 7 race
}
__global__ void last_block(float* out, float* partial, unsigned* done, bool fence) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = blockIdx.x;
    if (fence) __threadfence();
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (unsigned k = 0; k < gridDim.x; ++k) sum += partial[k];  // BUG 8 race
    *out = sum;
  }
}
__global__ void scatter(int* out, const int* to, bool atomic) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (atomic)
    atomicMax(&out[to[i]], i);
  else
    out[to[i]] = i;  // BUG 9 race
}
// All write the same: no race.
// Each thread may come first, on purpose.
__global__ void any_of_them(int* first) {
  *first = threadIdx.x;  // torchport: ignore, any is as good
}
__global__ void same_value(int* flag) {
  *flag = 7;
}
__global__ void uninitialised_bins(int* out, bool clear) {
  __shared__ int bins[16];
  if (clear && threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x % 16], 1);  // BUG 10 uninitialised shared memory
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}
__global__ void half_written(float* out, const float* in, int n) {
  __shared__ float tile[64];
  if (threadIdx.x < n) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];  // BUG 11 uninitialised shared memory
}
__global__ void halo(float* out, const float* in) {
  __shared__ float tile[66];
  tile[threadIdx.x + 1] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 2];  // BUG 12 uninitialised shared memory
}
__global__ void dynamic_reverse(int* data) {
  extern __shared__ int moved[];
  moved[threadIdx.x] = data[threadIdx.x];  // BUG 13 race
  data[threadIdx.x] = moved[blockDim.x - 1 - threadIdx.x];
}
__global__ void bytes(unsigned char* out, bool apart) {
  __shared__ unsigned char flags[64];
  flags[apart ? threadIdx.x : threadIdx.x / 2] = threadIdx.x;  // BUG 14 race
  __syncthreads();
  if (threadIdx.x < 32) out[threadIdx.x] = flags[threadIdx.x];
}
__global__ void scan(int* data, bool two) {
  __shared__ int values[2][64];
  int i = threadIdx.x;
  int in = 0;
  values[0][i] = data[i];
  __syncthreads();
  for (int step = 1; step < 64; step *= 2) {
    int out = two ? 1 - in : in;
    int sum = i >= step ? values[in][i] + values[in][i - step] : values[in][i];
    values[out][i] = sum;  // BUG 15 race
    in = out;
    __syncthreads();
  }
  data[i] = values[in][i];
}
__global__ void transpose(float* out, const float* in, bool wait) {
  __shared__ float tile[16][17];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 16 + threadIdx.x];  // BUG 16 race
  if (wait) __syncthreads();
  out[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void product(float* c, const float* a, const float* b, bool wait) {
  __shared__ float as[8][8], bs[8][8];
  float sum = 0;
  for (int k = 0; k < 32; k += 8) {
    as[threadIdx.y][threadIdx.x] = a[threadIdx.y * 32 + k + threadIdx.x];  // BUG 17 race
    bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * 8 + threadIdx.x];  // BUG 17 race
    __syncthreads();
    for (int i = 0; i < 8; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    if (wait) __syncthreads();
  }
  c[threadIdx.y * 8 + threadIdx.x] = sum;
}
__global__ void broadcast(int* out, bool wait) {
  __shared__ int base;
  if (threadIdx.x == 0) base = 100;  // BUG 18 race
  if (wait) __syncthreads();
  out[threadIdx.x] = base + threadIdx.x;
}
__global__ void spin(int* value, int* flag, int* out, bool fence) {
  if (blockIdx.x == 0) {
    *value = 5;
    if (fence) __threadfence();
    atomicAdd(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    *out = *value;  // BUG 19 race
  }
}

// A counter that is set without waiting before it is used.
__global__ void late_zero(int* out, bool wait) {
  __shared__ int first, count;
  if (threadIdx.x == 0) count = 0;  // BUG 20 race
  if (wait) __syncthreads();
  atomicAdd(&count, 1);  // BUG 20 race
  __syncthreads();
  if (threadIdx.x == 0) first = count;
  __syncthreads();
  out[threadIdx.x] = first;
}

const Case kCases[] = {
    {1, [] { reverse<<<1, 256>>>(filled<int>(256), false); }},
    {2, [] { tree<<<1, 256>>>(filled<float>(1), filled<float>(256), false); }},
    {3, [] { warp_tail<<<1, 64>>>(filled<float>(1), false); }},
    {4, [] { reused_tile<<<1, 64>>>(filled<float>(64), filled<float>(256), 4, false); }},
    {5, [] { one_counter<<<2, 32>>>(filled<int>(1), false); }},
    {6, [] { histogram<<<1, 64>>>(filled<int>(16), filled<unsigned char>(256, 3), 256, false); }},
    {7, [] { overlapping<<<2, 64>>>(filled<float>(128), 128); }},
    {8, [] { last_block<<<4, 32>>>(filled<float>(1), filled<float>(4), filled<unsigned>(1), false); }},
    {9, [] { scatter<<<2, 32>>>(filled<int>(4), filled<int>(64, 2), false); }},
    {10, [] { uninitialised_bins<<<1, 64>>>(filled<int>(16), false); }},
    {11, [] { half_written<<<1, 64>>>(filled<float>(64), filled<float>(64), 60); }},
    {12, [] { halo<<<1, 64>>>(filled<float>(64), filled<float>(64)); }},
    {13, [] { dynamic_reverse<<<1, 64, 256>>>(filled<int>(64)); }},
    {14, [] { bytes<<<1, 64>>>(filled<unsigned char>(64), false); }},
    {15, [] { scan<<<1, 64>>>(filled<int>(64, 1), false); }},
    {16, [] { transpose<<<1, dim3(16, 16)>>>(filled<float>(256), filled<float>(256), false); }},
    {17,
     [] {
       product<<<1, dim3(8, 8)>>>(filled<float>(64), filled<float>(256), filled<float>(256), false);
     }},
    {18, [] { broadcast<<<1, 64>>>(filled<int>(64), false); }},
    {19, [] { spin<<<2, 1>>>(filled<int>(1), filled<int>(1), filled<int>(1), false); }},
    {20, [] { late_zero<<<1, 64>>>(filled<int>(64), false); }},
    {0,
     [] {
       late_zero<<<1, 64>>>(filled<int>(64), true);
       reverse<<<1, 256>>>(filled<int>(256), true);
       tree<<<3, 256>>>(filled<float>(1), filled<float>(256), true);
       warp_tail<<<2, 64>>>(filled<float>(1), true);
       reused_tile<<<1, 64>>>(filled<float>(64), filled<float>(256), 4, true);
       one_counter<<<2, 32>>>(filled<int>(1), true);
       histogram<<<4, 64>>>(filled<int>(16), filled<unsigned char>(256, 3), 256, true);
       last_block<<<4, 32>>>(filled<float>(1), filled<float>(4), filled<unsigned>(1), true);
       scatter<<<2, 32>>>(filled<int>(4), filled<int>(64, 2), true);
       same_value<<<2, 64>>>(filled<int>(1));
       any_of_them<<<2, 64>>>(filled<int>(1));
       uninitialised_bins<<<2, 64>>>(filled<int>(16), true);
       half_written<<<1, 64>>>(filled<float>(64), filled<float>(64), 64);
       bytes<<<1, 64>>>(filled<unsigned char>(64), true);
       scan<<<1, 64>>>(filled<int>(64, 1), true);
       transpose<<<1, dim3(16, 16)>>>(filled<float>(256), filled<float>(256), true);
       product<<<1, dim3(8, 8)>>>(filled<float>(64), filled<float>(256), filled<float>(256), true);
       broadcast<<<1, 64>>>(filled<int>(64), true);
       spin<<<2, 1>>>(filled<int>(1), filled<int>(1), filled<int>(1), true);
     }},
};

int main(int argc, char** argv) {
  return run_cases(argc, argv, kCases);
}
