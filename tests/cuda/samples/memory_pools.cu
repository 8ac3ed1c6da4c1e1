// Memory in the order of streams: the default pool with a threshold, a pool of one's own, its
// figures.
#include <cstdint>

#include "sample.h"

__global__ void fill(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value + i;
}
__global__ void add(const int* a, const int* b, int* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = UINT64_MAX;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  const int n = 10000;
  std::vector<int> result(n);
  bool right = supported == 1;
  for (int round = 0; round < 3; ++round) {
    int *a, *b, *c;
    CHECK(cudaMallocAsync(&a, n * sizeof(int), stream));
    CHECK(cudaMallocAsync(&b, n * sizeof(int), stream));
    CHECK(cudaMallocAsync(&c, n * sizeof(int), stream));
    fill<<<(n + 255) / 256, 256, 0, stream>>>(a, n, round);
    fill<<<(n + 255) / 256, 256, 0, stream>>>(b, n, 100);
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
    CHECK(cudaFreeAsync(a, stream));
    CHECK(cudaFreeAsync(b, stream));
    CHECK(cudaMemcpyAsync(result.data(), c, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(c, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; ++i) right = right && result[i] == round + 100 + 2 * i;
  }
  uint64_t reserved = 0, used = 1;
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  right = right && reserved >= 3 * n * sizeof(int) && used == 0;
  CHECK(cudaMemPoolTrimTo(pool, 0));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  right = right && reserved == 0;

  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 0;
  cudaMemPool_t own;
  CHECK(cudaMemPoolCreate(&own, &properties));
  int* data;
  CHECK(cudaMallocFromPoolAsync(&data, n * sizeof(int), own, stream));
  fill<<<(n + 255) / 256, 256, 0, stream>>>(data, n, 7);
  CHECK(cudaMemcpyAsync(result.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
  right = right && used >= n * sizeof(int);
  CHECK(cudaFreeAsync(data, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < n; ++i) right = right && result[i] == 7 + i;
  CHECK(cudaMemPoolDestroy(own));
  CHECK(cudaStreamDestroy(stream));
  return finish("memory_pools", right);
}
