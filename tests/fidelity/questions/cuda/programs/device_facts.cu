// What the runtime says of the device: properties, attributes, limits, versions; and every error's name.
#include "told.h"

namespace {

void tell_three(const char* name, const int* v) { tell(name, std::vector<int>{v[0], v[1], v[2]}); }

}  // namespace

int main() {
  int version = 0;
  CHECK(cudaRuntimeGetVersion(&version));
  tell("runtime version", version);
  tell("CUDART_VERSION", CUDART_VERSION);
  tell("sizeof cudaDeviceProp", sizeof(cudaDeviceProp));
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  tell("name", p.name);
#define FIELD(NAME) tell(#NAME, static_cast<long long>(p.NAME));
  FIELD(totalGlobalMem) FIELD(sharedMemPerBlock) FIELD(regsPerBlock) FIELD(warpSize) FIELD(memPitch) FIELD(maxThreadsPerBlock)
  FIELD(totalConstMem) FIELD(major) FIELD(minor) FIELD(textureAlignment) FIELD(texturePitchAlignment) FIELD(multiProcessorCount)
  FIELD(integrated) FIELD(canMapHostMemory) FIELD(maxTexture1D) FIELD(maxTexture1DMipmap) FIELD(maxSurface1D)
  FIELD(maxSurfaceCubemap) FIELD(surfaceAlignment) FIELD(concurrentKernels) FIELD(ECCEnabled) FIELD(tccDriver)
  FIELD(asyncEngineCount) FIELD(unifiedAddressing) FIELD(memoryBusWidth) FIELD(l2CacheSize) FIELD(persistingL2CacheMaxSize)
  FIELD(maxThreadsPerMultiProcessor) FIELD(streamPrioritiesSupported) FIELD(globalL1CacheSupported) FIELD(localL1CacheSupported)
  FIELD(sharedMemPerMultiprocessor) FIELD(regsPerMultiprocessor) FIELD(managedMemory) FIELD(isMultiGpuBoard)
  FIELD(multiGpuBoardGroupID) FIELD(hostNativeAtomicSupported) FIELD(pageableMemoryAccess) FIELD(concurrentManagedAccess)
  FIELD(computePreemptionSupported) FIELD(canUseHostPointerForRegisteredMem) FIELD(cooperativeLaunch)
  FIELD(sharedMemPerBlockOptin) FIELD(pageableMemoryAccessUsesHostPageTables) FIELD(directManagedMemAccessFromHost)
  FIELD(maxBlocksPerMultiProcessor) FIELD(accessPolicyMaxWindowSize) FIELD(reservedSharedMemPerBlock)
  FIELD(hostRegisterSupported) FIELD(sparseCudaArraySupported) FIELD(hostRegisterReadOnlySupported)
  FIELD(timelineSemaphoreInteropSupported) FIELD(memoryPoolsSupported) FIELD(gpuDirectRDMASupported)
  FIELD(gpuDirectRDMAFlushWritesOptions) FIELD(gpuDirectRDMAWritesOrdering) FIELD(memoryPoolSupportedHandleTypes)
  FIELD(deferredMappingCudaArraySupported) FIELD(ipcEventSupported) FIELD(clusterLaunch) FIELD(unifiedFunctionPointers)
  FIELD(maxTexture2D[0]) FIELD(maxTexture2D[1]) FIELD(maxTexture2DLinear[0]) FIELD(maxTexture2DLayered[2])
  FIELD(maxTextureCubemap)
#if CUDART_VERSION < 13000
  FIELD(clockRate) FIELD(memoryClockRate) FIELD(maxTexture1DLinear) FIELD(deviceOverlap) FIELD(computeMode)
  FIELD(cooperativeMultiDeviceLaunch) FIELD(singleToDoublePrecisionPerfRatio) FIELD(kernelExecTimeoutEnabled)
#endif
  tell_three("maxThreadsDim", p.maxThreadsDim);
  tell_three("maxGridSize", p.maxGridSize);
  tell_three("maxTexture3D", p.maxTexture3D);
  std::vector<int> values, errors;
  for (int i = 1; i <= 160; ++i) {
    int value = -12345;
    cudaError_t error = cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(i), 0);
    if (i == cudaDevAttrPciBusId || i == cudaDevAttrPciDeviceId || i == cudaDevAttrPciDomainId) value = -1;
    values.push_back(value), errors.push_back(error);
    cudaGetLastError();
  }
  tell("attributes 1-160", values, 160);
  tell("attributes' errors", errors, 160);
  const char* limits[] = {"stack size", "printf fifo size", "malloc heap size", "sync depth", "pending launches", "fetch granularity",
                          "persisting L2"};
  for (int i = 0; i < 7; ++i) {
    size_t value = 0;
    cudaError_t error = cudaDeviceGetLimit(&value, static_cast<cudaLimit>(i));
    std::printf("limit %s: %s %zu\n", limits[i], cudaGetErrorName(error), value);
    cudaGetLastError();
  }
  const size_t wanted[] = {1, 1000, 1025, 100000, 1u << 20, 1u << 30};
  for (int i : {0, 1, 2, 5, 6})
    for (size_t one : wanted) {
      cudaError_t error = cudaDeviceSetLimit(static_cast<cudaLimit>(i), one);
      size_t value = 0;
      cudaDeviceGetLimit(&value, static_cast<cudaLimit>(i));
      std::printf("limit %s set to %zu: %s %zu\n", limits[i], one, cudaGetErrorName(error), value);
      cudaGetLastError();
    }
  int least = 0, greatest = 0;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  tell("stream priorities", std::vector<int>{least, greatest});
  unsigned flags = 99;
  tell_error("get flags", cudaGetDeviceFlags(&flags));
  tell("device flags", flags);
  cudaFuncCache cache = cudaFuncCachePreferNone;
  tell_error("cache", cudaDeviceGetCacheConfig(&cache));
  tell("cache config", cache);
  size_t width = 0;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  tell_error("texture 1D linear", cudaDeviceGetTexture1DLinearMaxWidth(&width, &format, 0));
  tell("texture 1D linear width of float", width);
  for (int i = 0; i < 1010; ++i) {
    auto error = static_cast<cudaError_t>(i);
    const char *name = cudaGetErrorName(error), *text = cudaGetErrorString(error);
    if (std::strcmp(name, "unrecognized error code") != 0) std::printf("error %d: %s | %s\n", i, name, text);
  }
  std::printf("error 12345: %s | %s\n", cudaGetErrorName(static_cast<cudaError_t>(12345)), cudaGetErrorString(static_cast<cudaError_t>(12345)));
  return 0;
}
