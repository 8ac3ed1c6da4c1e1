// What is said of an access behind the end of memory, and of one to memory that was freed.
#include <cstdio>
#include <cstring>

__global__ void reads(const int* p, int* out) {
  __syncthreads();
  *out = p[threadIdx.x == 5 ? 2 << 20 : 0];
}

int main(int, char** words) {
  int *p = nullptr, *out = nullptr;
  cudaMalloc(&p, 8 << 20);
  cudaMalloc(&out, 4);
  if (std::strcmp(words[1], "freed") == 0) cudaFree(p);
  reads<<<1, 8>>>(p, out);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
