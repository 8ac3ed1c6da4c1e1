// Devices of CUDA's runtime: which there are, and what they say of themselves.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda/device/fiber.h"
#include "cuda/runtime/limits.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/printing.h"
#include "cuda/runtime/state.h"
#include "cuda/runtime/streams.h"

using namespace torchport::cuda;

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return told(cudaErrorInvalidValue);
  *count = count_of_devices();
  return told(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return told(cudaErrorInvalidValue);
  if (count_of_devices() == 0) return told(cudaErrorNoDevice);
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (count_of_devices() == 0) return told(cudaErrorNoDevice);
  return told(set_current_device(device));
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  if (!is_device(device)) return told(cudaErrorInvalidDevice);
  device_state(device).active = true;
  return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return told(devices == nullptr || count < 1 ? cudaErrorInvalidValue : cudaSuccess);
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  if (device == nullptr || wanted == nullptr) return told(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  if (value == nullptr) return told(cudaErrorInvalidValue);
  if (!is_device(device)) return told(cudaErrorInvalidDevice);
  int found = 0;
  if (!attribute_of(*device_state(device).profile, device, which, found))
    return told(cudaErrorInvalidValue);
  *value = found;
  return cudaSuccess;
}

// A table of fields.
// NOLINTNEXTLINE(readability-function-size)
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return told(cudaErrorInvalidValue);
  if (!is_device(device)) return told(cudaErrorInvalidDevice);
  const torchport::devices::Profile& profile = *device_state(device).profile;
  cudaDeviceProp& p = *properties;
  std::memset(properties, 0, sizeof(p));
  const auto of = [&](int which) {
    int value = 0;
    attribute_of(profile, device, which, value);
    return value;
  };
  const std::size_t length = std::min(profile.device_name.size(), sizeof(p.name) - 1);
  std::memcpy(p.name, profile.device_name.data(), length);
  std::memcpy(p.uuid.bytes, "torchport-gpu", 13);
  p.uuid.bytes[15] = static_cast<char>(device);
  p.totalGlobalMem = memory_of(device).total();
#define TORCHPORT_FIELD(FIELD, ATTRIBUTE) \
  p.FIELD = static_cast<decltype(p.FIELD + 0)>(of(cudaDevAttr##ATTRIBUTE));
  TORCHPORT_FIELD(sharedMemPerBlock, MaxSharedMemoryPerBlock)
  TORCHPORT_FIELD(regsPerBlock, MaxRegistersPerBlock)
  TORCHPORT_FIELD(warpSize, WarpSize)
  TORCHPORT_FIELD(memPitch, MaxPitch)
  TORCHPORT_FIELD(maxThreadsPerBlock, MaxThreadsPerBlock)
  TORCHPORT_FIELD(maxThreadsDim[0], MaxBlockDimX)
  TORCHPORT_FIELD(maxThreadsDim[1], MaxBlockDimY)
  TORCHPORT_FIELD(maxThreadsDim[2], MaxBlockDimZ)
  TORCHPORT_FIELD(maxGridSize[0], MaxGridDimX)
  TORCHPORT_FIELD(maxGridSize[1], MaxGridDimY)
  TORCHPORT_FIELD(maxGridSize[2], MaxGridDimZ)
  TORCHPORT_FIELD(totalConstMem, TotalConstantMemory)
  TORCHPORT_FIELD(major, ComputeCapabilityMajor)
  TORCHPORT_FIELD(minor, ComputeCapabilityMinor)
  TORCHPORT_FIELD(textureAlignment, TextureAlignment)
  TORCHPORT_FIELD(texturePitchAlignment, TexturePitchAlignment)
  TORCHPORT_FIELD(multiProcessorCount, MultiProcessorCount)
  TORCHPORT_FIELD(integrated, Integrated)
  TORCHPORT_FIELD(canMapHostMemory, CanMapHostMemory)
  TORCHPORT_FIELD(maxTexture1D, MaxTexture1DWidth)
  TORCHPORT_FIELD(maxTexture1DMipmap, MaxTexture1DMipmappedWidth)
  TORCHPORT_FIELD(maxTexture2D[0], MaxTexture2DWidth)
  TORCHPORT_FIELD(maxTexture2D[1], MaxTexture2DHeight)
  TORCHPORT_FIELD(maxTexture2DMipmap[0], MaxTexture2DMipmappedWidth)
  TORCHPORT_FIELD(maxTexture2DMipmap[1], MaxTexture2DMipmappedHeight)
  TORCHPORT_FIELD(maxTexture2DLinear[0], MaxTexture2DLinearWidth)
  TORCHPORT_FIELD(maxTexture2DLinear[1], MaxTexture2DLinearHeight)
  TORCHPORT_FIELD(maxTexture2DLinear[2], MaxTexture2DLinearPitch)
  TORCHPORT_FIELD(maxTexture2DGather[0], MaxTexture2DGatherWidth)
  TORCHPORT_FIELD(maxTexture2DGather[1], MaxTexture2DGatherHeight)
  TORCHPORT_FIELD(maxTexture3D[0], MaxTexture3DWidth)
  TORCHPORT_FIELD(maxTexture3D[1], MaxTexture3DHeight)
  TORCHPORT_FIELD(maxTexture3D[2], MaxTexture3DDepth)
  TORCHPORT_FIELD(maxTexture3DAlt[0], MaxTexture3DWidthAlt)
  TORCHPORT_FIELD(maxTexture3DAlt[1], MaxTexture3DHeightAlt)
  TORCHPORT_FIELD(maxTexture3DAlt[2], MaxTexture3DDepthAlt)
  TORCHPORT_FIELD(maxTextureCubemap, MaxTextureCubemapWidth)
  TORCHPORT_FIELD(maxTexture1DLayered[0], MaxTexture1DLayeredWidth)
  TORCHPORT_FIELD(maxTexture1DLayered[1], MaxTexture1DLayeredLayers)
  TORCHPORT_FIELD(maxTexture2DLayered[0], MaxTexture2DLayeredWidth)
  TORCHPORT_FIELD(maxTexture2DLayered[1], MaxTexture2DLayeredHeight)
  TORCHPORT_FIELD(maxTexture2DLayered[2], MaxTexture2DLayeredLayers)
  TORCHPORT_FIELD(maxTextureCubemapLayered[0], MaxTextureCubemapLayeredWidth)
  TORCHPORT_FIELD(maxTextureCubemapLayered[1], MaxTextureCubemapLayeredLayers)
  TORCHPORT_FIELD(maxSurface1D, MaxSurface1DWidth)
  TORCHPORT_FIELD(maxSurface2D[0], MaxSurface2DWidth)
  TORCHPORT_FIELD(maxSurface2D[1], MaxSurface2DHeight)
  TORCHPORT_FIELD(maxSurface3D[0], MaxSurface3DWidth)
  TORCHPORT_FIELD(maxSurface3D[1], MaxSurface3DHeight)
  TORCHPORT_FIELD(maxSurface3D[2], MaxSurface3DDepth)
  TORCHPORT_FIELD(maxSurfaceCubemap, MaxSurfaceCubemapWidth)
  TORCHPORT_FIELD(surfaceAlignment, SurfaceAlignment)
  TORCHPORT_FIELD(concurrentKernels, ConcurrentKernels)
  TORCHPORT_FIELD(ECCEnabled, EccEnabled)
  TORCHPORT_FIELD(pciBusID, PciBusId)
  TORCHPORT_FIELD(pciDeviceID, PciDeviceId)
  TORCHPORT_FIELD(pciDomainID, PciDomainId)
  TORCHPORT_FIELD(tccDriver, TccDriver)
  TORCHPORT_FIELD(asyncEngineCount, AsyncEngineCount)
  TORCHPORT_FIELD(unifiedAddressing, UnifiedAddressing)
  TORCHPORT_FIELD(memoryBusWidth, GlobalMemoryBusWidth)
  TORCHPORT_FIELD(l2CacheSize, L2CacheSize)
  TORCHPORT_FIELD(persistingL2CacheMaxSize, MaxPersistingL2CacheSize)
  TORCHPORT_FIELD(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor)
  TORCHPORT_FIELD(streamPrioritiesSupported, StreamPrioritiesSupported)
  TORCHPORT_FIELD(globalL1CacheSupported, GlobalL1CacheSupported)
  TORCHPORT_FIELD(localL1CacheSupported, LocalL1CacheSupported)
  TORCHPORT_FIELD(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor)
  TORCHPORT_FIELD(regsPerMultiprocessor, MaxRegistersPerMultiprocessor)
  TORCHPORT_FIELD(managedMemory, ManagedMemory)
  TORCHPORT_FIELD(concurrentManagedAccess, ConcurrentManagedAccess)
  TORCHPORT_FIELD(computePreemptionSupported, ComputePreemptionSupported)
  TORCHPORT_FIELD(canUseHostPointerForRegisteredMem, CanUseHostPointerForRegisteredMem)
  TORCHPORT_FIELD(cooperativeLaunch, CooperativeLaunch)
  TORCHPORT_FIELD(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin)
  TORCHPORT_FIELD(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor)
  TORCHPORT_FIELD(accessPolicyMaxWindowSize, MaxAccessPolicyWindowSize)
  TORCHPORT_FIELD(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock)
  TORCHPORT_FIELD(hostRegisterSupported, HostRegisterSupported)
  TORCHPORT_FIELD(sparseCudaArraySupported, SparseCudaArraySupported)
  TORCHPORT_FIELD(hostRegisterReadOnlySupported, HostRegisterReadOnlySupported)
  TORCHPORT_FIELD(timelineSemaphoreInteropSupported, TimelineSemaphoreInteropSupported)
  TORCHPORT_FIELD(memoryPoolsSupported, MemoryPoolsSupported)
  TORCHPORT_FIELD(gpuDirectRDMASupported, GPUDirectRDMASupported)
  TORCHPORT_FIELD(gpuDirectRDMAFlushWritesOptions, GPUDirectRDMAFlushWritesOptions)
  TORCHPORT_FIELD(gpuDirectRDMAWritesOrdering, GPUDirectRDMAWritesOrdering)
  TORCHPORT_FIELD(memoryPoolSupportedHandleTypes, MemoryPoolSupportedHandleTypes)
  TORCHPORT_FIELD(deferredMappingCudaArraySupported, DeferredMappingCudaArraySupported)
  TORCHPORT_FIELD(ipcEventSupported, IpcEventSupport)
  TORCHPORT_FIELD(clusterLaunch, ClusterLaunch)
  p.unifiedFunctionPointers = 1;
  TORCHPORT_FIELD(clockRate, ClockRate)
  TORCHPORT_FIELD(memoryClockRate, MemoryClockRate)
  TORCHPORT_FIELD(deviceOverlap, GpuOverlap)
  TORCHPORT_FIELD(maxTexture1DLinear, MaxTexture1DLinearWidth)
  TORCHPORT_FIELD(singleToDoublePrecisionPerfRatio, SingleToDoublePrecisionPerfRatio)
#undef TORCHPORT_FIELD
  return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int from, int to) {
  if (value == nullptr || which < 1 || which > 4) return told(cudaErrorInvalidValue);
  if (!is_device(from) || !is_device(to) || from == to) return told(cudaErrorInvalidDevice);
  *value = which == cudaDevP2PAttrPerformanceRank ? 0 : 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (id == nullptr || length < 13) return told(cudaErrorInvalidValue);
  if (!is_device(device)) return told(cudaErrorInvalidDevice);
  int bus = 0;
  attribute_of(*device_state(device).profile, device, cudaDevAttrPciBusId, bus);
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02X:00.0", bus);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  if (device == nullptr || id == nullptr) return told(cudaErrorInvalidValue);
  for (int i = 0; i < count_of_devices(); ++i) {
    char name[16];
    cudaDeviceGetPCIBusId(name, sizeof(name), i);
    // The domain may be left out.
    if (strcasecmp(name, id) == 0 || strcasecmp(name + 5, id) == 0) {
      *device = i;
      return cudaSuccess;
    }
  }
  return told(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceSynchronize() {
  if (const int error = wait_in_capture(nullptr, true)) return told(error);
  return told(wait_for_device());
}

cudaError_t cudaDeviceReset() {
  if (count_of_devices() == 0) return told(cudaErrorNoDevice);
  show_prints();
  DeviceState& state = current_state();
  if (state.error != 0) state.unavailable = true;
  memory_of(state.index).free_all();
  state.limits = first_limits(*state.profile);
  state.peers = 0;
  state.active = false;
  last_error(true);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit which) {
  if (value == nullptr || which < 0 || which > cudaLimitPersistingL2CacheSize)
    return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  if (which == cudaLimitDevRuntimeSyncDepth) return told(cudaErrorUnsupportedLimit);
  *value = current_state().limits[which];
  return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(cudaLimit which, size_t value) {
  if (const int error = use_device()) return told(error);
  DeviceState& state = current_state();
  constexpr size_t kMostStack = size_t{512} << 10;
  constexpr size_t kLeastPrints = size_t{512} << 10;
  constexpr size_t kLeastHeap = size_t{4} << 20;
  constexpr size_t kMostGranularity = 128;
  switch (which) {
    case cudaLimitStackSize:
      if (value > kMostStack) return told(cudaErrorInvalidValue);
      state.limits[which] = (value + 15) / 16 * 16;
      FiberPool::let_stacks_be(state.limits[which]);
      return cudaSuccess;
    case cudaLimitPrintfFifoSize:
      state.limits[which] = std::max(value, kLeastPrints);
      return cudaSuccess;
    case cudaLimitMallocHeapSize:
      state.limits[which] = std::max(value, kLeastHeap);
      return cudaSuccess;
    case cudaLimitDevRuntimeSyncDepth:
      return told(cudaErrorUnsupportedLimit);
    case cudaLimitDevRuntimePendingLaunchCount:
      state.limits[which] = value;
      return cudaSuccess;
    case cudaLimitMaxL2FetchGranularity:
      if (value > kMostGranularity) return told(cudaErrorInvalidValue);
      state.limits[which] = value;
      return cudaSuccess;
    case cudaLimitPersistingL2CacheSize: {
      const size_t most = state.profile->l2_cache / 8 * 5;
      const size_t step = most / 10;
      if (value > most || step == 0) return told(cudaErrorInvalidValue);
      state.limits[which] = std::max((value + step - 1) / step * step, step);
      return cudaSuccess;
    }
    default:
      return told(cudaErrorInvalidValue);
  }
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  if (config == nullptr) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  *config = current_state().cache;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  if (const int error = use_device()) return told(error);
  current_state().cache = config;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  if (config == nullptr) return told(cudaErrorInvalidValue);
  *config = cudaSharedMemBankSizeFourByte;
  return told(use_device());
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return told(use_device());
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (const int error = use_device()) return told(error);
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width, const cudaChannelFormatDesc* format,
                                                 int device) {
  if (width == nullptr || format == nullptr) return told(cudaErrorInvalidValue);
  if (!is_device(device)) return told(cudaErrorInvalidDevice);
  const int bits = format->x + format->y + format->z + format->w;
  if (bits < 8) return told(cudaErrorInvalidValue);
  *width = (size_t{1} << 32) / static_cast<size_t>(bits / 8);
  return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  if ((flags & ~static_cast<unsigned>(cudaDeviceMask)) != 0) return told(cudaErrorInvalidValue);
  if (count_of_devices() == 0) return told(cudaErrorNoDevice);
  current_state().flags = flags | cudaDeviceMapHost;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (flags == nullptr) return told(cudaErrorInvalidValue);
  if (count_of_devices() == 0) return told(cudaErrorNoDevice);
  *flags = current_state().flags;
  return cudaSuccess;
}
cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget,
                                               cudaFlushGPUDirectRDMAWritesScope) {
  return told(use_device());
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return told(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  return cudaRuntimeGetVersion(version);
}

cudaError_t cudaProfilerStart() {
  return told(use_device());
}
cudaError_t cudaProfilerStop() {
  return told(use_device());
}
cudaError_t cudaThreadSynchronize() {
  return cudaDeviceSynchronize();
}
cudaError_t cudaThreadExit() {
  return cudaDeviceReset();
}
