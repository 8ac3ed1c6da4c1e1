// The functions of cuda_pipeline.h for C. Of `size` bytes the last `zeros` are not read but
// cleared.
#pragma once

#include <string.h>

#include "crt/host_defines.h"

static __inline__ __attribute__((unused)) void __pipeline_memcpy_async(
    void* __restrict__ to, const void* __restrict__ from, size_t size, size_t zeros = 0) {
  if (zeros > size) zeros = size;
  memcpy(to, from, size - zeros);
  memset(static_cast<char*>(to) + (size - zeros), 0, zeros);
}
static __inline__ __attribute__((unused)) void __pipeline_commit() {}
static __inline__ __attribute__((unused)) void __pipeline_wait_prior(size_t /*stages*/) {}
