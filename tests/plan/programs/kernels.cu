// Kernels and calls of CUDA's runtime for tensors that may have no values (test_kernels.py).
#include <cstdio>
#include <cublas_v2.h>
#include <curand.h>

struct Tensor {
  float* data;
  long size;
};
struct Pair {
  int flag;
  Tensor from, to;
};

__global__ void add_one(Pair pair) {
  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < pair.to.size) pair.to.data[i] = pair.from.data[i] + 1;
}
__global__ void fill(float* const* table, long size, float value) {
  for (long i = threadIdx.x; i < size; i += blockDim.x) table[blockIdx.x][i] = value;
}
// A thread waits for a value that is not there.
__global__ void wait(volatile float* flag) {
  while (*flag == 0) {
  }
}

extern "C" int launch_add_one(float* from, float* to, long size) {
  add_one<<<(size + 255) / 256, 256>>>(Pair{1, {from, size}, {to, size}});
  return cudaGetLastError();
}
extern "C" int launch_fill(float* const* table, int count, long size, float value) {
  fill<<<count, 256>>>(table, size, value);
  return cudaGetLastError();
}
extern "C" int launch_wait(float* flag) {
  wait<<<1, 1>>>(flag);
  return cudaDeviceSynchronize();
}
extern "C" int copy(void* to, const void* from, size_t bytes, int kind) {
  return cudaMemcpy(to, from, bytes, static_cast<cudaMemcpyKind>(kind));
}
extern "C" int set(void* to, int value, size_t bytes) { return cudaMemset(to, value, bytes); }
extern "C" void* take(size_t bytes) {
  void* data = nullptr;
  cudaMalloc(&data, bytes);
  return data;
}
extern "C" int multiply(float* a, float* b, float* c, int size) {
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float one = 1, zero = 0;
  const int error = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, a, size,
                                b, size, &zero, c, size);
  cublasDestroy(handle);
  return error;
}
extern "C" int draw(float* to, size_t count) {
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
  const int error = curandGenerateUniform(generator, to, count);
  curandDestroyGenerator(generator);
  return error;
}
