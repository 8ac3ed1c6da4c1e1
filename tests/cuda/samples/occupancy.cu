// How many blocks fit on a multiprocessor, the best size of a block, launch bounds and attributes
// of kernels, launches with attributes.
#include "sample.h"

__global__ void square(int* data, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) data[i] *= data[i];
}
__global__ void __launch_bounds__(128, 4) bounded(int* data, int n) {
  extern __shared__ int shared[];
  shared[threadIdx.x] =
      blockIdx.x * blockDim.x + threadIdx.x < n ? data[blockIdx.x * blockDim.x + threadIdx.x] : 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = shared[threadIdx.x] + 1;
}

int main() {
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  int least = 0, block = 0, blocks = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&least, &block, square, 0, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, square, block, 0));
  const int warps = blocks * block / device.warpSize,
            most = device.maxThreadsPerMultiProcessor / device.warpSize;
  bool right = block % 32 == 0 && block <= device.maxThreadsPerBlock &&
               least >= device.multiProcessorCount && warps * 2 >= most && warps <= most;
  const int n = 3000;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = i;
  Array<int> data(values);
  square<<<(n + block - 1) / block, block>>>(data, n);

  int with_shared = 0, limited = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      &least, &with_shared, bounded, [](int size) { return size * sizeof(int); }, 0));
  right = right && with_shared <= 128;
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, bounded));
  right = right && attributes.maxThreadsPerBlock == 128 && attributes.numRegs > 0;
  CHECK(cudaFuncSetAttribute(bounded, cudaFuncAttributeMaxDynamicSharedMemorySize, 96 * 1024));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&limited, bounded, 128, 96 * 1024));
  right = right && limited >= 1 && limited <= 2;
  bounded<<<1, 256, 256 * sizeof(int)>>>(data, n);  // more threads than it was built for
  right = right && cudaGetLastError() == cudaErrorInvalidValue;
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = dim3((n + 127) / 128), configuration.blockDim = dim3(128);
  configuration.dynamicSmemBytes = 96 * 1024;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributePriority;
  attribute.val.priority = 0;
  configuration.attrs = &attribute, configuration.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&configuration, bounded, (int*)data, n));
  const auto result = data.host();
  for (int i = 0; i < n; ++i) right = right && result[i] == i * i + 1;
  return finish("occupancy", right);
}
