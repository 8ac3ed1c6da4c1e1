#include <cstddef>

#include "cuda.h"
#include "cuda/runtime/driver.h"
#include "cuda_runtime_api.h"

using torchport::cuda::in_context;
using torchport::cuda::without_context;

static_assert(sizeof(CUmemPoolProps) == sizeof(cudaMemPoolProps));
static_assert(offsetof(CUmemPoolProps, maxSize) == offsetof(cudaMemPoolProps, maxSize));
static_assert(sizeof(CUmemAccessDesc) == sizeof(cudaMemAccessDesc));

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return without_context([&] {
    return cudaMemPoolCreate(pool, reinterpret_cast<const cudaMemPoolProps*>(properties));
  });
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return without_context([&] { return cudaMemPoolDestroy(pool); });
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  return without_context([&] { return cudaMemPoolTrimTo(pool, keep); });
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  return without_context(
      [&] { return cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(which), value); });
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  return without_context(
      [&] { return cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(which), value); });
}
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  return without_context([&] {
    return cudaMemPoolSetAccess(pool, reinterpret_cast<const cudaMemAccessDesc*>(map), count);
  });
}
CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  return without_context([&] {
    return cudaMemPoolGetAccess(reinterpret_cast<cudaMemAccessFlags*>(flags), pool,
                                reinterpret_cast<cudaMemLocation*>(location));
  });
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* data, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return in_context(
      [&] { return cudaMallocFromPoolAsync(reinterpret_cast<void**>(data), bytes, pool, stream); });
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return without_context([&] { return cudaDeviceGetDefaultMemPool(pool, device); });
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return without_context([&] { return cudaDeviceGetMemPool(pool, device); });
}
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return without_context([&] { return cudaDeviceSetMemPool(device, pool); });
}
CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
  if (pool == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_ERROR_NOT_SUPPORTED;
  return cuDeviceGetDefaultMemPool(pool, location->id);
}

CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                            CUmemcpyAttributes* /*attributes*/, size_t* /*firsts*/,
                            size_t /*attribute_count*/, CUstream stream) {
  if (to == nullptr || from == nullptr || bytes == nullptr || count == 0)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const CUresult status = cuMemcpyAsync(to[i], from[i], bytes[i], stream);
    if (status != CUDA_SUCCESS) return status;
  }
  return CUDA_SUCCESS;
}
