// Memory pools of CUDA's driver, and copies in batches.
#pragma once

#include "torchport/driver/tensors.h"
#include "torchport/driver/types.h"

typedef enum CUmemPool_attribute_enum {
  CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
  CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
  CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
  CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
  CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
  CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
  CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
  CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8
} CUmemPool_attribute;
// As cudaMemPoolProps.
typedef struct CUmemPoolProps_st {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
} CUmemPoolProps;

typedef enum CUmemcpySrcAccessOrder_enum {
  CU_MEMCPY_SRC_ACCESS_ORDER_INVALID = 0,
  CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1,
  CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2,
  CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3
} CUmemcpySrcAccessOrder;
typedef enum CUmemcpyFlags_enum {
  CU_MEMCPY_FLAG_DEFAULT = 0,
  CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE = 1
} CUmemcpyFlags;
typedef struct CUmemcpyAttributes_st {
  CUmemcpySrcAccessOrder srcAccessOrder;
  CUmemLocation srcLocHint;
  CUmemLocation dstLocHint;
  unsigned int flags;
} CUmemcpyAttributes;

TORCHPORT_CUDA_DRIVER CUresult cuMemPoolCreate(CUmemoryPool* pool,
                                               const CUmemPoolProps* properties);
TORCHPORT_CUDA_DRIVER CUresult cuMemPoolDestroy(CUmemoryPool pool);
TORCHPORT_CUDA_DRIVER CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep);
TORCHPORT_CUDA_DRIVER CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which,
                                                     void* value);
TORCHPORT_CUDA_DRIVER CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which,
                                                     void* value);
TORCHPORT_CUDA_DRIVER CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map,
                                                  size_t count);
TORCHPORT_CUDA_DRIVER CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool,
                                                  CUmemLocation* location);
TORCHPORT_CUDA_DRIVER CUresult cuMemAllocFromPoolAsync(CUdeviceptr* data, size_t bytes,
                                                       CUmemoryPool pool, CUstream stream);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device);
TORCHPORT_CUDA_DRIVER CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
// Of devices only.
TORCHPORT_CUDA_DRIVER CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                                      CUmemAllocationType type);

// Each copy is as cuMemcpyAsync; the attributes are hints.
TORCHPORT_CUDA_DRIVER CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes,
                                                  size_t count, CUmemcpyAttributes* attributes,
                                                  size_t* firsts, size_t attribute_count,
                                                  CUstream stream);
