// The functions of CUDA's driver that virtual devices have.
#pragma once

#include "cuda.h"

TORCHPORT_CUDA_DRIVER CUresult cuInit(unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuDriverGetVersion(int* version);
TORCHPORT_CUDA_DRIVER CUresult cuGetErrorName(CUresult error, const char** name);
TORCHPORT_CUDA_DRIVER CUresult cuGetErrorString(CUresult error, const char** text);
TORCHPORT_CUDA_DRIVER CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                                cuuint64_t flags,
                                                CUdriverProcAddressQueryResult* status);

TORCHPORT_CUDA_DRIVER CUresult cuDeviceGet(CUdevice* device, int ordinal);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceGetCount(int* count);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceGetName(char* name, int length, CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which,
                                                    CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer);
TORCHPORT_CUDA_DRIVER CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDevicePrimaryCtxRelease(CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDevicePrimaryCtxReset(CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags,
                                                          int* active);

#if defined(__cplusplus)
// As CUDA 12 has it, and as CUDA 13 does, whose parameters must be null.
TORCHPORT_CUDA_DRIVER CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags,
                                              CUdevice device);
inline CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  return cuCtxCreate_v2(context, flags, device);
}
inline CUresult cuCtxCreate(CUcontext* context, void* /*parameters*/, unsigned int flags,
                            CUdevice device) {
  return cuCtxCreate_v2(context, flags, device);
}
#endif
TORCHPORT_CUDA_DRIVER CUresult cuCtxDestroy(CUcontext context);
TORCHPORT_CUDA_DRIVER CUresult cuCtxPushCurrent(CUcontext context);
TORCHPORT_CUDA_DRIVER CUresult cuCtxPopCurrent(CUcontext* context);
TORCHPORT_CUDA_DRIVER CUresult cuCtxSetCurrent(CUcontext context);
TORCHPORT_CUDA_DRIVER CUresult cuCtxGetCurrent(CUcontext* context);
TORCHPORT_CUDA_DRIVER CUresult cuCtxGetDevice(CUdevice* device);
TORCHPORT_CUDA_DRIVER CUresult cuCtxGetFlags(unsigned int* flags);
TORCHPORT_CUDA_DRIVER CUresult cuCtxGetApiVersion(CUcontext context, unsigned int* version);
TORCHPORT_CUDA_DRIVER CUresult cuCtxSynchronize(void);
TORCHPORT_CUDA_DRIVER CUresult cuCtxSetLimit(CUlimit which, size_t value);
TORCHPORT_CUDA_DRIVER CUresult cuCtxGetLimit(size_t* value, CUlimit which);
TORCHPORT_CUDA_DRIVER CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest);
TORCHPORT_CUDA_DRIVER CUresult cuCtxSetCacheConfig(CUfunc_cache config);
TORCHPORT_CUDA_DRIVER CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuCtxDisablePeerAccess(CUcontext peer);

TORCHPORT_CUDA_DRIVER CUresult cuModuleLoad(CUmodule* module, const char* path);
TORCHPORT_CUDA_DRIVER CUresult cuModuleLoadData(CUmodule* module, const void* image);
TORCHPORT_CUDA_DRIVER CUresult cuModuleLoadDataEx(CUmodule* module, const void* image,
                                                  unsigned int count, CUjit_option* options,
                                                  void** values);
TORCHPORT_CUDA_DRIVER CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image);
TORCHPORT_CUDA_DRIVER CUresult cuModuleUnload(CUmodule module);
TORCHPORT_CUDA_DRIVER CUresult cuModuleGetFunction(CUfunction* function, CUmodule module,
                                                   const char* name);
TORCHPORT_CUDA_DRIVER CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes,
                                                 CUmodule module, const char* name);
TORCHPORT_CUDA_DRIVER CUresult cuLibraryLoadData(CUlibrary* library, const void* code,
                                                 CUjit_option* options, void** values,
                                                 unsigned int count, CUlibraryOption* more,
                                                 void** moreValues, unsigned int moreCount);
TORCHPORT_CUDA_DRIVER CUresult cuLibraryUnload(CUlibrary library);
TORCHPORT_CUDA_DRIVER CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library,
                                                  const char* name);
TORCHPORT_CUDA_DRIVER CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library);
TORCHPORT_CUDA_DRIVER CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel);
TORCHPORT_CUDA_DRIVER CUresult cuKernelGetAttribute(int* value, CUfunction_attribute which,
                                                    CUkernel kernel, CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuKernelGetName(const char** name, CUkernel kernel);
TORCHPORT_CUDA_DRIVER CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes,
                                                  CUlibrary library, const char* name);

TORCHPORT_CUDA_DRIVER CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which,
                                                  CUfunction function);
TORCHPORT_CUDA_DRIVER CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which,
                                                  int value);
TORCHPORT_CUDA_DRIVER CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config);
TORCHPORT_CUDA_DRIVER CUresult cuFuncGetModule(CUmodule* module, CUfunction function);
TORCHPORT_CUDA_DRIVER CUresult cuFuncGetName(const char** name, CUfunction function);
TORCHPORT_CUDA_DRIVER CUresult cuLaunchKernel(CUfunction function, unsigned int gridX,
                                              unsigned int gridY, unsigned int gridZ,
                                              unsigned int blockX, unsigned int blockY,
                                              unsigned int blockZ, unsigned int shared,
                                              CUstream stream, void** parameters, void** extra);
TORCHPORT_CUDA_DRIVER CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int gridX,
                                                         unsigned int gridY, unsigned int gridZ,
                                                         unsigned int blockX, unsigned int blockY,
                                                         unsigned int blockZ, unsigned int shared,
                                                         CUstream stream, void** parameters);
TORCHPORT_CUDA_DRIVER CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                                void** parameters, void** extra);
TORCHPORT_CUDA_DRIVER CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data);
TORCHPORT_CUDA_DRIVER CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                           CUfunction function,
                                                                           int threads,
                                                                           size_t shared);
TORCHPORT_CUDA_DRIVER CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int threads, size_t shared, unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                                                CUfunction function,
                                                                CUoccupancyB2DSize sharedOf,
                                                                size_t shared, int limit);

TORCHPORT_CUDA_DRIVER CUresult cuMemGetInfo(size_t* left, size_t* total);
TORCHPORT_CUDA_DRIVER CUresult cuMemAlloc(CUdeviceptr* data, size_t bytes);
TORCHPORT_CUDA_DRIVER CUresult cuMemAllocPitch(CUdeviceptr* data, size_t* pitch, size_t width,
                                               size_t height, unsigned int element);
TORCHPORT_CUDA_DRIVER CUresult cuMemAllocManaged(CUdeviceptr* data, size_t bytes,
                                                 unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuMemAllocHost(void** data, size_t bytes);
TORCHPORT_CUDA_DRIVER CUresult cuMemHostAlloc(void** data, size_t bytes, unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuMemAllocAsync(CUdeviceptr* data, size_t bytes, CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuMemFree(CUdeviceptr data);
TORCHPORT_CUDA_DRIVER CUresult cuMemFreeHost(void* data);
TORCHPORT_CUDA_DRIVER CUresult cuMemFreeAsync(CUdeviceptr data, CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuMemHostRegister(void* data, size_t bytes, unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuMemHostUnregister(void* data);
TORCHPORT_CUDA_DRIVER CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host,
                                                         unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuMemHostGetFlags(unsigned int* flags, void* host);
TORCHPORT_CUDA_DRIVER CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes,
                                                    CUdeviceptr data);
TORCHPORT_CUDA_DRIVER CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which,
                                                     CUdeviceptr data);
TORCHPORT_CUDA_DRIVER CUresult cuPointerGetAttributes(unsigned int count,
                                                      CUpointer_attribute* which, void** values,
                                                      CUdeviceptr data);

TORCHPORT_CUDA_DRIVER CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
TORCHPORT_CUDA_DRIVER CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                             CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes);
TORCHPORT_CUDA_DRIVER CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes);
TORCHPORT_CUDA_DRIVER CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes);
TORCHPORT_CUDA_DRIVER CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes,
                                                 CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes,
                                                 CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                                 CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext toContext, CUdeviceptr from,
                                            CUcontext fromContext, size_t bytes);
TORCHPORT_CUDA_DRIVER CUresult cuMemcpy2D(const CUDA_MEMCPY2D* p);
TORCHPORT_CUDA_DRIVER CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* p, CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count);
TORCHPORT_CUDA_DRIVER CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count);
TORCHPORT_CUDA_DRIVER CUresult cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count);
TORCHPORT_CUDA_DRIVER CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                                               CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                                                CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count,
                                                CUstream stream);

TORCHPORT_CUDA_DRIVER CUresult cuStreamCreate(CUstream* stream, unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags,
                                                          int priority);
TORCHPORT_CUDA_DRIVER CUresult cuStreamDestroy(CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuStreamSynchronize(CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuStreamQuery(CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags);
TORCHPORT_CUDA_DRIVER CUresult cuStreamGetPriority(CUstream stream, int* priority);
TORCHPORT_CUDA_DRIVER CUresult cuStreamGetCtx(CUstream stream, CUcontext* context);
// Since CUDA 12.5. No stream belongs to a green context.
TORCHPORT_CUDA_DRIVER CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context,
                                                 CUgreenCtx* green);
TORCHPORT_CUDA_DRIVER CUresult cuStreamGetDevice(CUstream stream, CUdevice* device);
TORCHPORT_CUDA_DRIVER CUresult cuStreamWaitEvent(CUstream stream, CUevent event,
                                                 unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback,
                                                   void* data, unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status);
TORCHPORT_CUDA_DRIVER CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode);
TORCHPORT_CUDA_DRIVER CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode);
TORCHPORT_CUDA_DRIVER CUresult cuStreamGetId(CUstream stream, unsigned long long* id);
TORCHPORT_CUDA_DRIVER CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph);
TORCHPORT_CUDA_DRIVER CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr data,
                                                    cuuint32_t value, unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuEventCreate(CUevent* event, unsigned int flags);
TORCHPORT_CUDA_DRIVER CUresult cuEventRecord(CUevent event, CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuEventQuery(CUevent event);
TORCHPORT_CUDA_DRIVER CUresult cuEventSynchronize(CUevent event);
TORCHPORT_CUDA_DRIVER CUresult cuEventDestroy(CUevent event);
TORCHPORT_CUDA_DRIVER CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);
TORCHPORT_CUDA_DRIVER CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuGraphDestroy(CUgraph graph);
TORCHPORT_CUDA_DRIVER CUresult cuGraphExecDestroy(CUgraphExec exec);
TORCHPORT_CUDA_DRIVER CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                           unsigned long long flags);
TORCHPORT_CUDA_DRIVER CUresult cuProfilerStart(void);
TORCHPORT_CUDA_DRIVER CUresult cuProfilerStop(void);
