// The functions of CUDA's runtime (reference manual of the CUDA toolkit 13.0).
#pragma once

#include "crt/host_defines.h"
#include "driver_types.h"

#define CUDART_VERSION 13000
#define TORCHPORT_CUDART extern "C" __attribute__((visibility("default")))

TORCHPORT_CUDART cudaError_t cudaGetLastError(void);
TORCHPORT_CUDART cudaError_t cudaPeekAtLastError(void);
TORCHPORT_CUDART const char* cudaGetErrorName(cudaError_t error);
TORCHPORT_CUDART const char* cudaGetErrorString(cudaError_t error);
TORCHPORT_CUDART cudaError_t cudaDeviceSynchronize(void);
TORCHPORT_CUDART cudaError_t cudaMalloc(void** data, size_t bytes);
TORCHPORT_CUDART cudaError_t cudaFree(void* data);
TORCHPORT_CUDART cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind);
TORCHPORT_CUDART cudaError_t cudaMemset(void* to, int value, size_t bytes);
