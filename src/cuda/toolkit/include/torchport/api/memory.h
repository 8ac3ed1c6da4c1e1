// CUDA's runtime: memory, copies, arrays, pools, textures.
#pragma once

#include "cuda_runtime_api.h"

TORCHPORT_CUDART cudaError_t cudaMalloc(void** data, size_t bytes);
TORCHPORT_CUDART cudaError_t cudaMallocHost(void** data, size_t bytes);
TORCHPORT_CUDART cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaMallocManaged(void** data, size_t bytes, unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaMallocPitch(void** data, size_t* pitch, size_t width,
                                             size_t height);
TORCHPORT_CUDART cudaError_t cudaMalloc3D(struct cudaPitchedPtr* data, struct cudaExtent extent);
TORCHPORT_CUDART cudaError_t cudaFree(void* data);
TORCHPORT_CUDART cudaError_t cudaFreeHost(void* data);
TORCHPORT_CUDART cudaError_t cudaHostRegister(void* data, size_t bytes, unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaHostUnregister(void* data);
TORCHPORT_CUDART cudaError_t cudaHostGetDevicePointer(void** device, void* host,
                                                      unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaHostGetFlags(unsigned int* flags, void* host);
TORCHPORT_CUDART cudaError_t cudaMemGetInfo(size_t* left, size_t* total);
TORCHPORT_CUDART cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes,
                                                      const void* data);

TORCHPORT_CUDART cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes,
                                        enum cudaMemcpyKind kind);
TORCHPORT_CUDART cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                                             enum cudaMemcpyKind kind,
                                             cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMemcpyPeer(void* to, int toDevice, const void* from,
                                            int fromDevice, size_t bytes);
TORCHPORT_CUDART cudaError_t cudaMemcpyPeerAsync(void* to, int toDevice, const void* from,
                                                 int fromDevice, size_t bytes,
                                                 cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMemcpy2D(void* to, size_t toPitch, const void* from,
                                          size_t fromPitch, size_t width, size_t height,
                                          enum cudaMemcpyKind kind);
TORCHPORT_CUDART cudaError_t cudaMemcpy2DAsync(void* to, size_t toPitch, const void* from,
                                               size_t fromPitch, size_t width, size_t height,
                                               enum cudaMemcpyKind kind,
                                               cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms* p);
TORCHPORT_CUDART cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms* p,
                                               cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms* p);
TORCHPORT_CUDART cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms* p,
                                                   cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMemset(void* to, int value, size_t bytes);
TORCHPORT_CUDART cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes,
                                             cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width,
                                          size_t height);
TORCHPORT_CUDART cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width,
                                               size_t height,
                                               cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value,
                                          struct cudaExtent extent);
TORCHPORT_CUDART cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value,
                                               struct cudaExtent extent,
                                               cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMemcpyToSymbol(
    const void* symbol, const void* from, size_t bytes, size_t offset TORCHPORT_DEFAULT(0),
    enum cudaMemcpyKind kind TORCHPORT_DEFAULT(cudaMemcpyHostToDevice));
TORCHPORT_CUDART cudaError_t
cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset TORCHPORT_DEFAULT(0),
                     enum cudaMemcpyKind kind TORCHPORT_DEFAULT(cudaMemcpyDeviceToHost));
TORCHPORT_CUDART cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from,
                                                     size_t bytes, size_t offset,
                                                     enum cudaMemcpyKind kind,
                                                     cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes,
                                                       size_t offset, enum cudaMemcpyKind kind,
                                                       cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaGetSymbolAddress(void** address, const void* symbol);
TORCHPORT_CUDART cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol);
#if !defined(__cplusplus)
TORCHPORT_CUDART cudaError_t cudaMemPrefetchAsync(const void* data, size_t bytes,
                                                  struct cudaMemLocation to, unsigned int flags,
                                                  cudaStream_t stream);
TORCHPORT_CUDART cudaError_t cudaMemAdvise(const void* data, size_t bytes,
                                           enum cudaMemoryAdvise advice, struct cudaMemLocation at);
#endif
TORCHPORT_CUDART cudaError_t cudaMemRangeGetAttribute(void* value, size_t size,
                                                      enum cudaMemRangeAttribute which,
                                                      const void* data, size_t bytes);

TORCHPORT_CUDART cudaError_t cudaMallocArray(cudaArray_t* array,
                                             const struct cudaChannelFormatDesc* format,
                                             size_t width, size_t height TORCHPORT_DEFAULT(0),
                                             unsigned int flags TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMalloc3DArray(cudaArray_t* array,
                                               const struct cudaChannelFormatDesc* format,
                                               struct cudaExtent extent,
                                               unsigned int flags TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaFreeArray(cudaArray_t array);
TORCHPORT_CUDART cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc* format,
                                              struct cudaExtent* extent, unsigned int* flags,
                                              cudaArray_t array);
TORCHPORT_CUDART cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc* format,
                                                cudaArray_const_t array);
TORCHPORT_CUDART struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                                    enum cudaChannelFormatKind f);
TORCHPORT_CUDART cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y,
                                                 const void* from, size_t pitch, size_t width,
                                                 size_t height, enum cudaMemcpyKind kind);
TORCHPORT_CUDART cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y,
                                                      const void* from, size_t pitch, size_t width,
                                                      size_t height, enum cudaMemcpyKind kind,
                                                      cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from,
                                                   size_t x, size_t y, size_t width, size_t height,
                                                   enum cudaMemcpyKind kind);
TORCHPORT_CUDART cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch,
                                                        cudaArray_const_t from, size_t x, size_t y,
                                                        size_t width, size_t height,
                                                        enum cudaMemcpyKind kind,
                                                        cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t
cudaMemcpy2DArrayToArray(cudaArray_t to, size_t toX, size_t toY, cudaArray_const_t from,
                         size_t fromX, size_t fromY, size_t width, size_t height,
                         enum cudaMemcpyKind kind TORCHPORT_DEFAULT(cudaMemcpyDeviceToDevice));
TORCHPORT_CUDART cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from,
                                               size_t bytes, enum cudaMemcpyKind kind);
TORCHPORT_CUDART cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x,
                                                 size_t y, size_t bytes, enum cudaMemcpyKind kind);
TORCHPORT_CUDART cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array,
                                                      const struct cudaChannelFormatDesc* format,
                                                      struct cudaExtent extent, unsigned int levels,
                                                      unsigned int flags TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level,
                                                        cudaMipmappedArray_const_t array,
                                                        unsigned int which);
TORCHPORT_CUDART cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array);

TORCHPORT_CUDART cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object,
                                                     const struct cudaResourceDesc* resource,
                                                     const struct cudaTextureDesc* texture,
                                                     const struct cudaResourceViewDesc* view);
TORCHPORT_CUDART cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object);
TORCHPORT_CUDART cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc* resource,
                                                              cudaTextureObject_t object);
TORCHPORT_CUDART cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc* texture,
                                                             cudaTextureObject_t object);
TORCHPORT_CUDART cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object,
                                                     const struct cudaResourceDesc* resource);
TORCHPORT_CUDART cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object);

TORCHPORT_CUDART cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t stream);
TORCHPORT_CUDART cudaError_t cudaFreeAsync(void* data, cudaStream_t stream);
TORCHPORT_CUDART cudaError_t cudaMallocFromPoolAsync(void** data, size_t bytes, cudaMemPool_t pool,
                                                     cudaStream_t stream);
TORCHPORT_CUDART cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool,
                                               const struct cudaMemPoolProps* properties);
TORCHPORT_CUDART cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
TORCHPORT_CUDART cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep);
TORCHPORT_CUDART cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which,
                                                     void* value);
TORCHPORT_CUDART cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which,
                                                     void* value);
TORCHPORT_CUDART cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool,
                                                  const struct cudaMemAccessDesc* list,
                                                  size_t count);
TORCHPORT_CUDART cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags* flags,
                                                  cudaMemPool_t pool,
                                                  struct cudaMemLocation* location);
TORCHPORT_CUDART cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
TORCHPORT_CUDART cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
TORCHPORT_CUDART cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);

#if defined(__cplusplus)
// As CUDA 13 has them, and as CUDA 12 does: without a kernel's part they have nothing to do.
TORCHPORT_CUDART cudaError_t torchport_cuda_is_managed(const void* data, size_t bytes);
inline cudaError_t cudaMemPrefetchAsync(const void* data, size_t bytes,
                                        struct cudaMemLocation /*to*/, unsigned int /*flags*/,
                                        cudaStream_t /*stream*/ = nullptr) {
  return torchport_cuda_is_managed(data, bytes);
}
inline cudaError_t cudaMemPrefetchAsync(const void* data, size_t bytes, int /*to*/,
                                        cudaStream_t /*stream*/ = nullptr) {
  return torchport_cuda_is_managed(data, bytes);
}
inline cudaError_t cudaMemAdvise(const void* data, size_t bytes, enum cudaMemoryAdvise /*advice*/,
                                 struct cudaMemLocation /*at*/) {
  return torchport_cuda_is_managed(data, bytes);
}
inline cudaError_t cudaMemAdvise(const void* data, size_t bytes, enum cudaMemoryAdvise /*advice*/,
                                 int /*at*/) {
  return torchport_cuda_is_managed(data, bytes);
}
#endif
