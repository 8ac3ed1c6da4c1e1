// CUDA's runtime: devices, errors, versions, peers.
#pragma once

#include "cuda_runtime_api.h"

#define cudaGetDeviceProperties_v2 cudaGetDeviceProperties

TORCHPORT_CUDART cudaError_t cudaGetLastError(void);
TORCHPORT_CUDART cudaError_t cudaPeekAtLastError(void);
TORCHPORT_CUDART const char* cudaGetErrorName(cudaError_t error);
TORCHPORT_CUDART const char* cudaGetErrorString(cudaError_t error);

TORCHPORT_CUDART cudaError_t cudaGetDeviceCount(int* count);
TORCHPORT_CUDART cudaError_t cudaGetDevice(int* device);
TORCHPORT_CUDART cudaError_t cudaSetDevice(int device);
TORCHPORT_CUDART cudaError_t cudaInitDevice(int device, unsigned int deviceFlags,
                                            unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaSetValidDevices(int* devices, int count);
TORCHPORT_CUDART cudaError_t cudaChooseDevice(int* device, const struct cudaDeviceProp* wanted);
TORCHPORT_CUDART cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* properties, int device);
TORCHPORT_CUDART cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr which,
                                                    int device);
TORCHPORT_CUDART cudaError_t cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr which,
                                                       int from, int to);
TORCHPORT_CUDART cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id);
TORCHPORT_CUDART cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device);
TORCHPORT_CUDART cudaError_t cudaDeviceReset(void);
TORCHPORT_CUDART cudaError_t cudaDeviceSynchronize(void);
TORCHPORT_CUDART cudaError_t cudaDeviceSetLimit(enum cudaLimit which, size_t value);
TORCHPORT_CUDART cudaError_t cudaDeviceGetLimit(size_t* value, enum cudaLimit which);
TORCHPORT_CUDART cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache* config);
TORCHPORT_CUDART cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
TORCHPORT_CUDART cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig* config);
TORCHPORT_CUDART cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
TORCHPORT_CUDART cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
TORCHPORT_CUDART cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(
    size_t* width, const struct cudaChannelFormatDesc* format, int device);
TORCHPORT_CUDART cudaError_t cudaSetDeviceFlags(unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaGetDeviceFlags(unsigned int* flags);
TORCHPORT_CUDART cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(
    enum cudaFlushGPUDirectRDMAWritesTarget target, enum cudaFlushGPUDirectRDMAWritesScope scope);

TORCHPORT_CUDART cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
TORCHPORT_CUDART cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaDeviceDisablePeerAccess(int peer);

TORCHPORT_CUDART cudaError_t cudaDriverGetVersion(int* version);
TORCHPORT_CUDART cudaError_t cudaRuntimeGetVersion(int* version);
TORCHPORT_CUDART cudaError_t
cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult* status TORCHPORT_DEFAULT(NULL));
TORCHPORT_CUDART cudaError_t cudaGetDriverEntryPointByVersion(
    const char* name, void** function, unsigned int version, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult* status TORCHPORT_DEFAULT(NULL));

TORCHPORT_CUDART cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event);
TORCHPORT_CUDART cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event,
                                                    cudaIpcEventHandle_t handle);
TORCHPORT_CUDART cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory);
TORCHPORT_CUDART cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle,
                                                  unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaIpcCloseMemHandle(void* memory);

TORCHPORT_CUDART cudaError_t cudaProfilerStart(void);
TORCHPORT_CUDART cudaError_t cudaProfilerStop(void);

// Of CUDA 12 and before.
TORCHPORT_CUDART cudaError_t cudaThreadSynchronize(void);
TORCHPORT_CUDART cudaError_t cudaThreadExit(void);
