// What kernels that were built for checks call, by their library of calls.
#pragma once

#include <cstddef>

#include "torchport/kernel.h"

extern "C" {

// `flags` are AccessFlags; `code` is the return address of the call in the kernel.
TORCHPORT_CUDA_API void torchport_cuda_check_access(const volatile void* address, std::size_t bytes,
                                                    unsigned flags, const void* code);
TORCHPORT_CUDA_API void torchport_cuda_check_fence();
TORCHPORT_CUDA_API void torchport_cuda_check_index(const char* file, unsigned line,
                                                   const char* array, unsigned long long index);
TORCHPORT_CUDA_API void torchport_cuda_check_alignment(const char* file, unsigned line,
                                                       const char* type, unsigned long long bytes,
                                                       const void* address);

// A shift by the width or more, and a cast of a float that its integer has no room for, which the
// rewriter has not reached (src/cuda/source/arithmetic.h).
TORCHPORT_CUDA_API void torchport_cuda_check_shift(unsigned bits, unsigned long long amount,
                                                   const void* code);
TORCHPORT_CUDA_API void torchport_cuda_check_cast(double value, unsigned bits, bool is_signed,
                                                  bool of_double, const char* type,
                                                  const void* code);

// For Triton's kernels, which Python interprets: a finding, if its key is new for its cause (a
// number of Cause), and a launch that was checked.
TORCHPORT_CUDA_API void torchport_cuda_add_finding(unsigned cause, const char* key,
                                                   const char* text);
TORCHPORT_CUDA_API void torchport_cuda_count_launch();
}
