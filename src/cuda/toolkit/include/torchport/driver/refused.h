// Functions of CUDA's driver that virtual devices refuse with CUDA_ERROR_NOT_SUPPORTED, and one
// line that names the function: virtual memory, multicasts, tensor maps, green contexts, the linker
// of PTX, nodes of graphs that are made by hand.
#pragma once

#include "cuda.h"

// (name, parameters)
#define TORCHPORT_REFUSED_DRIVER_FUNCTIONS(FUNCTION)                                               \
  FUNCTION(cuMemAddressReserve, (CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long))   \
  FUNCTION(cuMemAddressFree, (CUdeviceptr, size_t))                                                \
  FUNCTION(cuMemCreate, (CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,        \
                         unsigned long long))                                                      \
  FUNCTION(cuMemRelease, (CUmemGenericAllocationHandle))                                           \
  FUNCTION(cuMemMap,                                                                               \
           (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long))        \
  FUNCTION(cuMemUnmap, (CUdeviceptr, size_t))                                                      \
  FUNCTION(cuMemSetAccess, (CUdeviceptr, size_t, const CUmemAccessDesc*, size_t))                  \
  FUNCTION(cuMemGetAllocationGranularity,                                                          \
           (size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags))                \
  FUNCTION(cuMemGetAllocationPropertiesFromHandle,                                                 \
           (CUmemAllocationProp*, CUmemGenericAllocationHandle))                                   \
  FUNCTION(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle*, void*))                    \
  FUNCTION(cuMemExportToShareableHandle,                                                           \
           (void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long))   \
  FUNCTION(cuMemImportFromShareableHandle,                                                         \
           (CUmemGenericAllocationHandle*, void*, CUmemAllocationHandleType))                      \
  FUNCTION(cuMulticastCreate, (CUmemGenericAllocationHandle*, const CUmulticastObjectProp*))       \
  FUNCTION(cuMulticastAddDevice, (CUmemGenericAllocationHandle, CUdevice))                         \
  FUNCTION(cuMulticastBindMem, (CUmemGenericAllocationHandle, size_t,                              \
                                CUmemGenericAllocationHandle, size_t, size_t, unsigned long long)) \
  FUNCTION(cuMulticastUnbind, (CUmemGenericAllocationHandle, CUdevice, size_t, size_t))            \
  FUNCTION(cuMulticastGetGranularity,                                                              \
           (size_t*, const CUmulticastObjectProp*, CUmulticastGranularity_flags))                  \
  FUNCTION(cuTensorMapEncodeTiled,                                                                 \
           (CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,               \
            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,        \
            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill))                  \
  FUNCTION(                                                                                        \
      cuTensorMapEncodeIm2col,                                                                     \
      (CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, \
       const int*, const int*, cuuint32_t, cuuint32_t, const cuuint32_t*, CUtensorMapInterleave,   \
       CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill))                       \
  FUNCTION(cuGreenCtxCreate, (CUgreenCtx*, CUdevResourceDesc, CUdevice, unsigned int))             \
  FUNCTION(cuGreenCtxDestroy, (CUgreenCtx))                                                        \
  FUNCTION(cuGreenCtxStreamCreate, (CUstream*, CUgreenCtx, unsigned int, int))                     \
  FUNCTION(cuCtxFromGreenCtx, (CUcontext*, CUgreenCtx))                                            \
  FUNCTION(cuDeviceGetDevResource, (CUdevice, CUdevResource*, CUdevResourceType))                  \
  FUNCTION(cuDevSmResourceSplitByCount, (CUdevResource*, unsigned int*, const CUdevResource*,      \
                                         CUdevResource*, unsigned int, unsigned int))              \
  FUNCTION(cuDevResourceGenerateDesc, (CUdevResourceDesc*, CUdevResource*, unsigned int))          \
  FUNCTION(cuLinkCreate, (unsigned int, CUjit_option*, void**, CUlinkState*))                      \
  FUNCTION(cuLinkAddData, (CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned int,  \
                           CUjit_option*, void**))                                                 \
  FUNCTION(cuLinkAddFile,                                                                          \
           (CUlinkState, CUjitInputType, const char*, unsigned int, CUjit_option*, void**))        \
  FUNCTION(cuLinkComplete, (CUlinkState, void**, size_t*))                                         \
  FUNCTION(cuLinkDestroy, (CUlinkState))                                                           \
  FUNCTION(cuLibraryGetManaged, (CUdeviceptr*, size_t*, CUlibrary, const char*))                   \
  FUNCTION(cuKernelGetLibrary, (CUlibrary*, CUkernel))                                             \
  FUNCTION(cuGreenCtxGetId, (CUgreenCtx, unsigned long long*))                                     \
  FUNCTION(cuGraphAddKernelNode,                                                                   \
           (CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_KERNEL_NODE_PARAMS*))    \
  FUNCTION(cuGraphKernelNodeSetAttribute,                                                          \
           (CUgraphNode, CUkernelNodeAttrID, const CUkernelNodeAttrValue*))                        \
  FUNCTION(cuStreamWaitValue32, (CUstream, CUdeviceptr, cuuint32_t, unsigned int))

#define TORCHPORT_DECLARED(NAME, PARAMETERS) TORCHPORT_CUDA_DRIVER CUresult NAME PARAMETERS;
TORCHPORT_REFUSED_DRIVER_FUNCTIONS(TORCHPORT_DECLARED)
#undef TORCHPORT_DECLARED
