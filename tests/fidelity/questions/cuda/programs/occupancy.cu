// Attributes of kernels that the compiler decides, and the occupancy calculators' answers.
#include "told.h"

namespace {

__global__ void empty() {}
__global__ void plain(float* p) { p[threadIdx.x] *= 2.0f; }
__global__ void __launch_bounds__(256, 4) bounded(float* p) { p[threadIdx.x] = sinf(p[threadIdx.x]); }
__global__ void __launch_bounds__(1024) wide_bounded(float* p) { p[threadIdx.x] = p[threadIdx.x + 1]; }
__global__ void shared(float* p) {
  __shared__ float s[2500];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void dynamic(float* p) {
  extern __shared__ float s[];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1];
}
__constant__ float cValues[100];
__global__ void constant(float* p) { p[threadIdx.x] = cValues[threadIdx.x % 100]; }
__global__ void local(float* p, int n) {
  float kept[100];
  for (int i = 0; i < 100; ++i) kept[i] = p[i];
  p[0] = kept[n % 100] + kept[(n * 7) % 100];
}
// Many registers alive at once: values are loaded before any is used.
template <int kCount>
__global__ void heavy(float* p) {
  float kept[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) kept[i] = p[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kCount; ++i) p[(kCount - i) * 1024 + threadIdx.x] = kept[i] * kept[(i * 7 + 1) % kCount];
}
__global__ void __cluster_dims__(2, 1, 1) clustered(float* p) { p[threadIdx.x] = 1; }
struct Large { int words[500]; };
__global__ void large(Large l, int* p) { p[0] = l.words[p[1]]; }

template <class Kernel>
void ask(const char* name, Kernel kernel) {
  cudaFuncAttributes a{};
  CHECK(cudaFuncGetAttributes(&a, kernel));
  std::printf("attributes %s: shared %zu const %zu local %zu threads %d registers %d ptx %d binary %d cacheModeCA %d dynamic %d carveout %d\n",
              name, a.sharedSizeBytes, a.constSizeBytes, a.localSizeBytes, a.maxThreadsPerBlock, a.numRegs, a.ptxVersion, a.binaryVersion,
              a.cacheModeCA, a.maxDynamicSharedSizeBytes, a.preferredShmemCarveout);
  std::vector<int> counts;
  for (int block : {1, 32, 33, 64, 96, 128, 192, 256, 384, 512, 640, 768, 1024, 1025})
    for (int bytes : {0, 1, 1024, 8192, 16384, 32768, 49152, 49153, 101376, 232448}) {
      int blocks = -1;
      cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block, bytes);
      counts.push_back(error == cudaSuccess ? blocks : -static_cast<int>(error));
      cudaGetLastError();
    }
  tell(std::string("blocks ") + name, counts, 200);
  std::vector<long long> best;
  for (int bytes : {0, 1024, 16384, 49152, 100000})
    for (int limit : {0, 128, 300}) {
      int grid = -1, block = -1;
      cudaError_t error = cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel, bytes, limit);
      best.push_back(error), best.push_back(grid), best.push_back(block);
      cudaGetLastError();
    }
  tell(std::string("best ") + name, best);
  int grid = -1, block = -1;
  cudaError_t error = cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, kernel, [](int threads) { return threads * 100ull; });
  tell(std::string("best variable ") + name, std::vector<int>{error, grid, block});
  std::vector<long long> room;
  for (int blocks : {1, 2, 3, 4, 8, 16, 32})
    for (int threads : {32, 256, 1024}) {
      size_t bytes = 12345;
      cudaError_t failed = cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, blocks, threads);
      room.push_back(failed == cudaSuccess ? static_cast<long long>(bytes) : -static_cast<long long>(failed));
      cudaGetLastError();
    }
  tell(std::string("room ") + name, room);
}

}  // namespace

int main() {
  ask("empty", empty);
  ask("plain", plain);
  ask("launch bounds 256 4", bounded);
  ask("launch bounds 1024", wide_bounded);
  ask("shared 10000", shared);
  ask("dynamic", dynamic);
  CHECK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448));
  ask("dynamic with attribute", dynamic);
  CHECK(cudaFuncSetAttribute(dynamic, cudaFuncAttributePreferredSharedMemoryCarveout, 25));
  ask("dynamic with carveout 25", dynamic);
  ask("constant", constant);
  ask("local", local);
  ask("heavy 24", heavy<24>);
  ask("heavy 60", heavy<60>);
  ask("heavy 110", heavy<110>);
  ask("heavy 240", heavy<240>);
  ask("clustered", clustered);
  ask("large argument", large);
  cudaLaunchConfig_t config = {};
  config.gridDim = 64, config.blockDim = 256;
  cudaLaunchAttribute attribute = {};
  config.attrs = &attribute, config.numAttrs = 1;
  attribute.id = cudaLaunchAttributeClusterDimension;
  for (unsigned x : {1u, 2u, 4u, 8u, 16u}) {
    attribute.val.clusterDim.x = x, attribute.val.clusterDim.y = 1, attribute.val.clusterDim.z = 1;
    int clusters = -1;
    cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, plain, &config);
    tell("clusters of " + std::to_string(x), std::vector<int>{error, clusters});
    cudaGetLastError();
  }
  int size = -1;
  config.numAttrs = 0;
  tell_error("cluster size", cudaOccupancyMaxPotentialClusterSize(&size, plain, &config));
  tell("potential cluster size", size);
  return 0;
}
