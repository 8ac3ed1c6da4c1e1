// Functions for a process that has PyTorch's virtual devices.
#include <cstdio>

__global__ void bad(int* p) { p[threadIdx.x] = 1; }

extern "C" void tell() {
  int count = 0, device = -1;
  size_t left = 0, total = 0;
  cudaGetDeviceCount(&count);
  cudaGetDevice(&device);
  cudaMemGetInfo(&left, &total);
  std::printf("%d devices, current %d, left %zu of %zu\n", count, device, left >> 20, total >> 20);
  std::fflush(stdout);
}
extern "C" int take(size_t bytes) {
  void* p = nullptr;
  return cudaMalloc(&p, bytes);
}
extern "C" int start(int* p) {
  bad<<<1, 4>>>(p);
  return cudaGetLastError();
}
extern "C" int fail() {
  bad<<<1, 4>>>(nullptr);
  return cudaDeviceSynchronize();
}
