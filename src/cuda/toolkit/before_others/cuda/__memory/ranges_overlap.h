// CCCL 3.2 has this function in code for the host only, and asks for it where both are compiled.
#pragma once

#include <cuda/std/detail/__config>

#if defined(__TORCHPORT_NVCC__) && CCCL_VERSION >= 3002000 && CCCL_VERSION < 3003000
#include <functional>

_CCCL_BEGIN_NAMESPACE_CUDA

template <typename T>
bool __ptr_ranges_overlap_host(T* begin, T* end, T* other_begin, T* other_end) noexcept {
  const ::std::less<T*> before;
  return before(begin, other_end) && before(other_begin, end);
}

_CCCL_END_NAMESPACE_CUDA
#endif

#include_next <cuda/__memory/ranges_overlap.h>
