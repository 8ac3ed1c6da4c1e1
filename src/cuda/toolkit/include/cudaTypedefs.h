// Types of pointers to functions of CUDA's driver, for those who ask for them by name
// (cudaGetDriverEntryPoint, cuGetProcAddress): PFN_NAME, and PFN_NAME_vVERSION for the release of
// CUDA that the function has had its form since.
#pragma once

#include "cuda.h"

#define TORCHPORT_POINTER(NAME, VERSION)             \
  typedef __typeof__(&NAME) PFN_##NAME##_v##VERSION; \
  typedef PFN_##NAME##_v##VERSION PFN_##NAME;

TORCHPORT_POINTER(cuInit, 2000)
TORCHPORT_POINTER(cuDriverGetVersion, 2020)
TORCHPORT_POINTER(cuGetErrorString, 6000)
TORCHPORT_POINTER(cuGetErrorName, 6000)
TORCHPORT_POINTER(cuDeviceGet, 2000)
TORCHPORT_POINTER(cuDeviceGetCount, 2000)
TORCHPORT_POINTER(cuDeviceGetName, 2000)
TORCHPORT_POINTER(cuDeviceGetAttribute, 2000)
TORCHPORT_POINTER(cuCtxGetCurrent, 4000)
TORCHPORT_POINTER(cuCtxGetDevice, 2000)
TORCHPORT_POINTER(cuCtxSetCurrent, 4000)
TORCHPORT_POINTER(cuModuleLoadData, 2000)
TORCHPORT_POINTER(cuModuleUnload, 2000)
TORCHPORT_POINTER(cuModuleGetFunction, 2000)
TORCHPORT_POINTER(cuFuncGetAttribute, 2020)
TORCHPORT_POINTER(cuFuncSetAttribute, 9000)
TORCHPORT_POINTER(cuLaunchKernel, 7000)
TORCHPORT_POINTER(cuLaunchKernelEx, 11060)
TORCHPORT_POINTER(cuPointerGetAttribute, 4000)
TORCHPORT_POINTER(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)
TORCHPORT_POINTER(cuLibraryLoadData, 12000)
TORCHPORT_POINTER(cuLibraryUnload, 12000)
TORCHPORT_POINTER(cuLibraryGetKernel, 12000)
TORCHPORT_POINTER(cuKernelGetFunction, 12000)
TORCHPORT_POINTER(cuTensorMapEncodeTiled, 12000)
TORCHPORT_POINTER(cuTensorMapEncodeIm2col, 12000)
TORCHPORT_POINTER(cuMulticastCreate, 12010)
TORCHPORT_POINTER(cuMulticastAddDevice, 12010)
TORCHPORT_POINTER(cuMulticastUnbind, 12010)
TORCHPORT_POINTER(cuMulticastGetGranularity, 12010)
TORCHPORT_POINTER(cuMemAddressReserve, 10020)
TORCHPORT_POINTER(cuMemAddressFree, 10020)
TORCHPORT_POINTER(cuMemCreate, 10020)
TORCHPORT_POINTER(cuMemRelease, 10020)
TORCHPORT_POINTER(cuMemMap, 10020)
TORCHPORT_POINTER(cuMemUnmap, 10020)
TORCHPORT_POINTER(cuMemSetAccess, 10020)
TORCHPORT_POINTER(cuMemGetAllocationGranularity, 10020)
TORCHPORT_POINTER(cuMemExportToShareableHandle, 10020)
TORCHPORT_POINTER(cuMemImportFromShareableHandle, 10020)
TORCHPORT_POINTER(cuGetProcAddress, 12000)

#undef TORCHPORT_POINTER
