// The functions of cuda_pipeline.h for C. Of `size` bytes the last `zeros` are not read but
// cleared.
#pragma once

#include <string.h>

#include "crt/host_defines.h"
#include "torchport/kernel.h"

static __inline__ __attribute__((always_inline, unused)) void __pipeline_memcpy_async(
    void* __restrict__ to, const void* __restrict__ from, size_t size, size_t zeros = 0) {
  if (zeros > size) zeros = size;
  memcpy(to, from, size - zeros);
  memset(static_cast<char*>(to) + (size - zeros), 0, zeros);
  torchport::cuda::copies_later(to, size);
}
static __inline__ __attribute__((always_inline, unused)) void __pipeline_commit() {
  torchport::cuda::commit_copies();
}
static __inline__ __attribute__((always_inline, unused)) void __pipeline_wait_prior(size_t stages) {
  torchport::cuda::wait_for_copies(static_cast<unsigned>(stages));
}
