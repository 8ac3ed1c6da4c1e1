// CUDA's runtime: launches by address, functions' attributes, occupancy.
#pragma once

#include "cuda_runtime_api.h"

TORCHPORT_CUDART cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block,
                                              void** arguments, size_t shared, cudaStream_t stream);
TORCHPORT_CUDART cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid,
                                                         dim3 block, void** arguments,
                                                         size_t shared, cudaStream_t stream);
#if defined(__cplusplus)
TORCHPORT_CUDART cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                                 const void* function, void** arguments);
TORCHPORT_CUDART cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                            const cudaLaunchConfig_t* config);
TORCHPORT_CUDART cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                                  const cudaLaunchConfig_t* config);
#endif
TORCHPORT_CUDART cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attributes,
                                                   const void* function);
TORCHPORT_CUDART cudaError_t cudaFuncSetAttribute(const void* function,
                                                  enum cudaFuncAttribute which, int value);
TORCHPORT_CUDART cudaError_t cudaFuncSetCacheConfig(const void* function,
                                                    enum cudaFuncCache config);
TORCHPORT_CUDART cudaError_t cudaFuncSetSharedMemConfig(const void* function,
                                                        enum cudaSharedMemConfig config);
TORCHPORT_CUDART cudaError_t cudaFuncGetName(const char** name, const void* function);
TORCHPORT_CUDART cudaError_t cudaGetFuncBySymbol(cudaFunction_t* result, const void* function);
TORCHPORT_CUDART cudaError_t cudaGetKernel(cudaKernel_t* result, const void* function);
TORCHPORT_CUDART cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                           const void* function,
                                                                           int threads,
                                                                           size_t shared);
TORCHPORT_CUDART cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, size_t shared, unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared,
                                                                       const void* function,
                                                                       int blocks, int threads);
