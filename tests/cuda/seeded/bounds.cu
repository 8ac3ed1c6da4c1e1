// Accesses out of bounds, misaligned ones, and of memory that was freed.
#include "run.h"

__constant__ int table[8];
__device__ int counters[16];

__global__ void no_guard(int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = i;  // BUG 1 out of bounds
}
__global__ void guard(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i;
}
__global__ void next_read(int* out, const int* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i + 1];  // BUG 2 out of bounds
}
__global__ void negative(float* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i - 1] = 1.0f;  // BUG 3 out of bounds
}
__global__ void rows(float* matrix, int width) {
  matrix[threadIdx.y * width + threadIdx.x] += 1.0f;  // BUG 4 out of bounds
}
__global__ void vector_tail(float4* out, const float4* in, int n) {
  int i = threadIdx.x;
  if (i * 4 < n) out[i] = in[i];  // BUG 5 out of bounds
}
__global__ void shared_beyond(int* out) {
  __shared__ int tile[32];
  int i = threadIdx.x;
  tile[i + 1] = i;  // BUG 6 out of bounds
  __syncthreads();
  out[i] = i;
}
__global__ void dynamic_beyond(int* out) {
  extern __shared__ int values[];
  int i = threadIdx.x;
  values[i] = i;  // BUG 7 out of bounds
  __syncthreads();
  out[i] = values[i];
}
__global__ void local_beyond(int* out, int n) {
  int window[4] = {0, 1, 2, 3};
  int sum = 0;
  for (int k = 0; k <= n; ++k) sum += window[k];  // BUG 8 out of bounds
  out[threadIdx.x] = sum;
}
__global__ void constant_beyond(int* out) {
  out[threadIdx.x] = table[threadIdx.x];  // BUG 9 out of bounds
}
__global__ void variable_beyond(int n) {
  counters[threadIdx.x % n] = 1;  // BUG 10 out of bounds
}
__global__ void through_pointer(int* out) {
  int* end = out + 64;
  for (int* at = out; at <= end; ++at) *at = 0;  // BUG 11 out of bounds
}
__device__ void store(double* to, int i) {
  to[i] = 1.0;  // BUG 12 out of bounds
}
__global__ void in_function(double* out) {
  store(out, threadIdx.x + 1);
}
__global__ void atomic_beyond(int* bins, int n) {
  atomicAdd(&bins[threadIdx.x % n], 1);  // BUG 13 out of bounds
}
__global__ void host_pointer(int* out, const int* in) {
  out[threadIdx.x] = in[threadIdx.x];  // BUG 14 out of bounds
}
__global__ void null_pointer(int* out, const int* in) {
  out[threadIdx.x] = in == nullptr ? 0 : in[threadIdx.x];
}
__global__ void freed(int* out) {
  out[threadIdx.x] = 1;  // BUG 15 use after free
}
__global__ void freed_read(int* out, const int* in) {
  out[threadIdx.x] = in[threadIdx.x];  // BUG 16 use after free
}
__global__ void misaligned(float4* out, const float* in) {
  out[threadIdx.x] = *reinterpret_cast<const float4*>(in + 1 + 4 * threadIdx.x);  // BUG 17 misaligned
}
__global__ void misaligned_pair(int2* out, const char* in) {
  out[threadIdx.x] = *reinterpret_cast<const int2*>(in + 4);  // BUG 18 misaligned
}
__global__ void misaligned_word(int* out, const char* in) {
  out[threadIdx.x] = *reinterpret_cast<const int*>(in + 2);  // BUG 19 misaligned
}
__global__ void struct_beyond(int* out, int n) {
  struct Pair {
    int first[2];
    int second;
  };
  __shared__ Pair pairs[8];
  pairs[threadIdx.x].second = 1;
  __syncthreads();
  out[threadIdx.x] = pairs[threadIdx.x + n].second;  // BUG 20 out of bounds
}
__global__ void volume(float* data, int depth) {
  data[(threadIdx.z * 4 + threadIdx.y) * 4 + threadIdx.x + depth * 16] = 1.0f;  // BUG 21 out of bounds
}
// Blocks of 1024 bytes, which lie side by side.
__global__ void neighbours(int* out, int n) {
  if (threadIdx.x <= n) out[threadIdx.x] = 1;  // BUG 22 out of bounds
}
__global__ void reused(int* out) {
  out[threadIdx.x] = 2;  // BUG 23 use after free
}
__global__ void kernel_heap(int* out) {
  int* own = static_cast<int*>(malloc(4 * sizeof(int)));
  for (int k = 0; k < 4; ++k) own[k] = k;
  out[threadIdx.x] = own[3];
  free(own);
}

const Case kCases[] = {
    {1, [] { no_guard<<<2, 128>>>(filled<int>(250)); }},
    {0, [] { guard<<<2, 128>>>(filled<int>(250), 250); }},
    {2, [] { next_read<<<1, 64>>>(filled<int>(64), filled<int>(64), 64); }},
    {3, [] { negative<<<1, 64>>>(filled<float>(64), 64); }},
    {4, [] { rows<<<1, dim3(8, 8)>>>(filled<float>(60), 8); }},
    {5, [] { vector_tail<<<1, 32>>>((float4*)filled<float>(64), (float4*)filled<float>(62), 62); }},
    {6, [] { shared_beyond<<<1, 32>>>(filled<int>(32)); }},
    {7, [] { dynamic_beyond<<<1, 64, 60 * sizeof(int)>>>(filled<int>(64)); }},
    {8, [] { local_beyond<<<1, 4>>>(filled<int>(4), 4); }},
    {9, [] { constant_beyond<<<1, 9>>>(filled<int>(9)); }},
    {10, [] { variable_beyond<<<1, 32>>>(17); }},
    {11, [] { through_pointer<<<1, 1>>>(filled<int>(64)); }},
    {12, [] { in_function<<<1, 64>>>(filled<double>(64)); }},
    {13, [] { atomic_beyond<<<1, 64>>>(filled<int>(10), 11); }},
    {14,
     [] {
       static int* host = new int[32]();
       host_pointer<<<1, 32>>>(filled<int>(32), host);
     }},
    {0, [] { null_pointer<<<1, 32>>>(filled<int>(32), nullptr); }},
    {15,
     [] {
       int* data = filled<int>(32);
       cudaFree(data);
       freed<<<1, 32>>>(data);
     }},
    {16,
     [] {
       int* data = filled<int>(32);
       int* out = filled<int>(32);
       cudaFree(data);
       freed_read<<<1, 32>>>(out, data);
     }},
    {17, [] { misaligned<<<1, 4>>>((float4*)filled<float>(16), filled<float>(32)); }},
    {18, [] { misaligned_pair<<<1, 4>>>((int2*)filled<int>(16), filled<char>(64)); }},
    {19, [] { misaligned_word<<<1, 4>>>(filled<int>(16), filled<char>(64)); }},
    {20, [] { struct_beyond<<<1, 8>>>(filled<int>(8), 1); }},
    {21, [] { volume<<<1, dim3(4, 4, 4)>>>(filled<float>(64), 1); }},
    {22,
     [] {
       int* out = filled<int>(256);
       filled<int>(256);
       neighbours<<<1, 288>>>(out, 256);
     }},
    {23,
     [] {
       int* out = filled<int>(256);
       cudaFree(out);
       filled<int>(256);
       reused<<<1, 256>>>(out);
     }},
    {0, [] { kernel_heap<<<1, 4>>>(filled<int>(4)); }},
    {0,
     [] {
       vector_tail<<<1, 32>>>((float4*)filled<float>(64), (float4*)filled<float>(64), 64);
       dynamic_beyond<<<1, 64, 64 * sizeof(int)>>>(filled<int>(64));
       variable_beyond<<<1, 32>>>(16);
       atomic_beyond<<<1, 64>>>(filled<int>(11), 11);
     }},
};

int main(int argc, char** argv) {
  return run_cases(argc, argv, kCases);
}
