// Takes memory until the device is full, and says what a second device has.
#include <cstdio>
#include <vector>

__global__ void writes(char* p) { *p = 1; }

int main() {
  size_t left = 0, total = 0;
  std::vector<char*> all;
  char* p = nullptr;
  while (cudaMalloc(&p, size_t{1} << 30) == cudaSuccess) all.push_back(p);
  std::printf("blocks %zu, then %s\n", all.size(), cudaGetErrorString(cudaGetLastError()));
  cudaMemGetInfo(&left, &total);
  std::printf("left %zu MiB\n", left >> 20);
  for (char* one : all) writes<<<1, 1>>>(one + (size_t{1} << 30) - 1);
  std::printf("written: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  for (char* one : all) cudaFree(one);
  cudaMemGetInfo(&left, &total);
  std::printf("after: %zu MiB of %zu MiB\n", left >> 20, total >> 20);
  int count = 0;
  cudaGetDeviceCount(&count);
  cudaSetDevice(count - 1);
  std::printf("device %d: %s\n", count - 1, cudaGetErrorName(cudaMalloc(&p, size_t{1} << 30)));
}
