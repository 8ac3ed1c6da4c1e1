// Blocks that wait for blocks with a higher number, which a GPU runs at the same time.
#include <cstdio>

__global__ void atomics(int* ready, int* out) {
  const int next = blockIdx.x + 1;
  if (next < gridDim.x)
    while (atomicAdd(&ready[next], 0) == 0) {
    }
  out[blockIdx.x] = next < gridDim.x ? out[next] + 1 : 0;
  __threadfence();
  atomicExch(&ready[blockIdx.x], 1);
}

__global__ void volatiles(volatile int* ready, int* out) {
  const int next = blockIdx.x + 1;
  if (next < gridDim.x)
    while (ready[next] == 0) {
    }
  out[blockIdx.x] = next < gridDim.x ? out[next] + 1 : 0;
  __threadfence();
  ready[blockIdx.x] = 1;
}

// After many short blocks threads of the host claim runs of them: block 15000 waits for one that
// probably lies in the run that it is in itself.
__global__ void after_short_ones(int* ready) {
  const int i = blockIdx.x;
  if (i == 15000)
    while (atomicAdd(&ready[i + 2], 0) == 0) {
    }
  atomicExch(&ready[i], 1);
}

int main() {
  constexpr int kBlocks = 4;
  int *ready, *out, result = -1;
  cudaMallocManaged(&ready, kBlocks * sizeof(int));
  cudaMallocManaged(&out, kBlocks * sizeof(int));
  for (int form = 0; form < 2; ++form) {
    cudaMemset(ready, 0, kBlocks * sizeof(int));
    cudaMemset(out, 0, kBlocks * sizeof(int));
    if (form == 0)
      atomics<<<kBlocks, 1>>>(ready, out);
    else
      volatiles<<<kBlocks, 1>>>(ready, out);
    cudaMemcpy(&result, out, sizeof(int), cudaMemcpyDeviceToHost);
    std::printf("%d\n", result);
  }
  constexpr int kMany = 20000;
  int* many;
  cudaMallocManaged(&many, kMany * sizeof(int));
  cudaMemset(many, 0, kMany * sizeof(int));
  after_short_ones<<<kMany, 1>>>(many);
  cudaDeviceSynchronize();
  int ran = 0;
  for (int i = 0; i < kMany; ++i) ran += many[i];
  std::printf("%d\n", ran);
}
