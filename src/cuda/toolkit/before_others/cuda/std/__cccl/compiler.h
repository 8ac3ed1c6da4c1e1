// Which compiler this is, of the headers of CCCL. A file is compiled once here, for the host and
// for a device: what is there for one of the two is needed.
#pragma once

#include_next <cuda/std/__cccl/compiler.h>

#if defined(__TORCHPORT_NVCC__) && defined(_CCCL_HOST_COMPILATION)
#undef _CCCL_HOST_COMPILATION
#define _CCCL_HOST_COMPILATION() 1
#endif
