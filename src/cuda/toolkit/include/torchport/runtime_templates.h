// The runtime's functions for C++: those that take a kernel, a symbol or a pointer of any type.
#pragma once

#include <type_traits>
#include <utility>

#include "channel_descriptor.h"
#include "cuda_runtime_api.h"
#include "torchport/kernel.h"

// ---- memory ----

template <class T>
inline cudaError_t cudaMalloc(T** data, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(data), bytes);
}
template <class T>
inline cudaError_t cudaMallocHost(T** data, size_t bytes, unsigned int flags = 0) {
  return cudaHostAlloc(reinterpret_cast<void**>(data), bytes, flags);
}
inline cudaError_t cudaMallocHost(void** data, size_t bytes, unsigned int flags) {
  return cudaHostAlloc(data, bytes, flags);
}
template <class T>
inline cudaError_t cudaHostAlloc(T** data, size_t bytes, unsigned int flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(data), bytes, flags);
}
template <class T>
inline cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned int flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}
template <class T>
inline cudaError_t cudaMallocManaged(T** data, size_t bytes,
                                     unsigned int flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(reinterpret_cast<void**>(data), bytes, flags);
}
inline cudaError_t cudaMallocManaged(void** data, size_t bytes) {
  return cudaMallocManaged(data, bytes, cudaMemAttachGlobal);
}
template <class T>
inline cudaError_t cudaMallocPitch(T** data, size_t* pitch, size_t width, size_t height) {
  return cudaMallocPitch(reinterpret_cast<void**>(data), pitch, width, height);
}
template <class T>
inline cudaError_t cudaMallocAsync(T** data, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(data), bytes, stream);
}
template <class T>
inline cudaError_t cudaMallocAsync(T** data, size_t bytes, cudaMemPool_t pool,
                                   cudaStream_t stream) {
  return cudaMallocFromPoolAsync(reinterpret_cast<void**>(data), bytes, pool, stream);
}
template <class T>
inline cudaError_t cudaMallocFromPoolAsync(T** data, size_t bytes, cudaMemPool_t pool,
                                           cudaStream_t stream) {
  return cudaMallocFromPoolAsync(reinterpret_cast<void**>(data), bytes, pool, stream);
}
template <class T>
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T* memory, size_t length = 0,
                                            unsigned int flags = cudaMemAttachSingle) {
  return cudaStreamAttachMemAsync(stream, static_cast<void*>(memory), length, flags);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return cudaEventCreateWithFlags(event, flags);
}

// ---- symbols ----

namespace torchport::cuda {

// A variable that the program's rewriter did not see (a member, a template) is known by its use.
TORCHPORT_CUDA_API void use_variable(const volatile void* address, std::size_t bytes);
template <class T>
const void* address_of_symbol(const T& symbol) {
  const auto* address = &reinterpret_cast<const volatile char&>(symbol);
  use_variable(address, sizeof(T));
  return const_cast<const char*>(address);
}

}  // namespace torchport::cuda

template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes,
                                      size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpyToSymbol(torchport::cuda::address_of_symbol(symbol), from, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cudaMemcpyFromSymbol(to, torchport::cuda::address_of_symbol(symbol), bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes,
                                           size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                           cudaStream_t stream = nullptr) {
  return cudaMemcpyToSymbolAsync(torchport::cuda::address_of_symbol(symbol), from, bytes, offset,
                                 kind, stream);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes,
                                             size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                             cudaStream_t stream = nullptr) {
  return cudaMemcpyFromSymbolAsync(to, torchport::cuda::address_of_symbol(symbol), bytes, offset,
                                   kind, stream);
}
template <class P, class T>
inline cudaError_t cudaGetSymbolAddress(P** address, const T& symbol) {
  return cudaGetSymbolAddress(reinterpret_cast<void**>(address),
                              torchport::cuda::address_of_symbol(symbol));
}
template <class T>
inline cudaError_t cudaGetSymbolSize(size_t* size, const T& symbol) {
  return cudaGetSymbolSize(size, torchport::cuda::address_of_symbol(symbol));
}

// ---- kernels ----

template <class T>
inline cudaError_t cudaLaunchKernel(T* function, dim3 grid, dim3 block, void** arguments,
                                    size_t shared = 0, cudaStream_t stream = nullptr) {
  return cudaLaunchKernel(reinterpret_cast<const void*>(function), grid, block, arguments, shared,
                          stream);
}
template <class T>
inline cudaError_t cudaLaunchCooperativeKernel(T* function, dim3 grid, dim3 block, void** arguments,
                                               size_t shared = 0, cudaStream_t stream = nullptr) {
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(function), grid, block,
                                     arguments, shared, stream);
}
template <class... Parameters, class... Arguments>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config,
                                      void (*function)(Parameters...), Arguments&&... arguments) {
  return [&](Parameters... values) {
    void* addresses[] = {const_cast<void*>(static_cast<const volatile void*>(&values))..., nullptr};
    return cudaLaunchKernelExC(config, reinterpret_cast<const void*>(function), addresses);
  }(std::forward<Arguments>(arguments)...);
}
template <class T>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* function) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(function));
}
template <class T>
inline cudaError_t cudaFuncSetAttribute(T* function, cudaFuncAttribute which, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(function), which, value);
}
template <class T>
inline cudaError_t cudaFuncSetCacheConfig(T* function, cudaFuncCache config) {
  return cudaFuncSetCacheConfig(reinterpret_cast<const void*>(function), config);
}
template <class T>
inline cudaError_t cudaFuncSetSharedMemConfig(T* function, cudaSharedMemConfig config) {
  return cudaFuncSetSharedMemConfig(reinterpret_cast<const void*>(function), config);
}
template <class T>
inline cudaError_t cudaFuncGetName(const char** name, T* function) {
  return cudaFuncGetName(name, reinterpret_cast<const void*>(function));
}
template <class T>
inline cudaError_t cudaGetFuncBySymbol(cudaFunction_t* result, T* function) {
  return cudaGetFuncBySymbol(result, reinterpret_cast<const void*>(function));
}
template <class T>
inline cudaError_t cudaGetKernel(cudaKernel_t* result, T* function) {
  return cudaGetKernel(result, reinterpret_cast<const void*>(function));
}

// ---- occupancy ----

template <class T>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T function,
                                                                 int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, reinterpret_cast<const void*>(function), threads, shared);
}
template <class T>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, T function,
                                                                          int threads,
                                                                          size_t shared,
                                                                          unsigned int flags) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, reinterpret_cast<const void*>(function), threads, shared, flags);
}
template <class T>
inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared, T* function,
                                                             int blocks, int threads) {
  return cudaOccupancyAvailableDynamicSMemPerBlock(shared, reinterpret_cast<const void*>(function),
                                                   blocks, threads);
}
template <class T>
inline cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, T* function,
                                                  const cudaLaunchConfig_t* config) {
  return cudaOccupancyMaxActiveClusters(clusters, reinterpret_cast<const void*>(function), config);
}
template <class T>
inline cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, T* function,
                                                        const cudaLaunchConfig_t* config) {
  return cudaOccupancyMaxPotentialClusterSize(size, reinterpret_cast<const void*>(function),
                                              config);
}

// The block with which most threads are on a multiprocessor; of several the largest. Blocks shrink
// by a warp at a time.
template <class SharedOf, class T>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, T function,
                                                                  SharedOf shared_of,
                                                                  int limit = 0) {
  constexpr int kWarp = 32;
  int device = 0;
  int multiprocessors = 0;
  int most = 0;
  cudaFuncAttributes attributes;
  if (cudaError_t error = cudaGetDevice(&device)) return error;
  if (cudaError_t error =
          cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device))
    return error;
  if (cudaError_t error =
          cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, device))
    return error;
  if (cudaError_t error =
          cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(function)))
    return error;
  if (limit <= 0 || limit > attributes.maxThreadsPerBlock) limit = attributes.maxThreadsPerBlock;
  int best = 0;
  *grid = *block = 0;
  for (int tried = (limit + kWarp - 1) / kWarp * kWarp; tried > 0; tried -= kWarp) {
    const int threads = tried < limit ? tried : limit;
    int blocks = 0;
    if (cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, reinterpret_cast<const void*>(function), threads,
            static_cast<size_t>(shared_of(threads))))
      return error;
    if (blocks * threads > best) {
      best = blocks * threads;
      *grid = blocks * multiprocessors;
      *block = threads;
    }
    if (best == most) break;
  }
  return cudaSuccess;
}
template <class SharedOf, class T>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int* grid, int* block, T function, SharedOf shared_of, int limit = 0, unsigned int = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, function, shared_of, limit);
}
template <class T>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, T function,
                                                      size_t shared = 0, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      grid, block, function, [shared](int) { return shared; }, limit);
}
template <class T>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, T function,
                                                               size_t shared = 0, int limit = 0,
                                                               unsigned int = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, function, shared, limit);
}
