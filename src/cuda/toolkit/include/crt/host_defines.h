// Words of the CUDA language that a C++ compiler does not know. A kernel's code is compiled once,
// for the host, so that most of them say nothing; __shared__ is one variable for each host thread,
// since the threads of a block share the host thread that runs it.
#pragma once

#if defined(__cplusplus)
// libstdc++ writes __attribute__((__noinline__)) here, which the macro below would break.
#include <memory>
#if __has_include(<stacktrace>) && __cplusplus > 202002L
#include <stacktrace>
#endif
#endif

// The rewriter of `torchport nvcc` reads these words itself.
#ifndef __TORCHPORT_NVCC__
#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ static thread_local

#undef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#undef __noinline__
#define __noinline__ __attribute__((noinline))
#endif
#define __inline_hint__
#define __no_return__ __attribute__((noreturn))
#define __align__(n) __attribute__((aligned(n)))
#if !defined(__clang__)  // a function of nvcc's own
#define __builtin_assume(...) ((__VA_ARGS__) ? (void)0 : __builtin_unreachable())
#endif
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __thread__ __thread
#define __import__
#define __export__
#define __cdecl
#define __annotate__(...)
#define __location__(...)
#define __CUDA_ALIGN__(n) __attribute__((aligned(n)))

#ifndef __TORCHPORT_NVCC__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#endif
#define __nv_pure__ __attribute__((pure))
#define __nv_weak__ __attribute__((weak))

#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __cuda_builtin_vector_align8(tag, members) \
  struct __attribute__((aligned(8))) tag {         \
    members                                        \
  }

#ifndef CUDARTAPI
#define CUDARTAPI
#endif
#ifndef CUDARTAPI_CDECL
#define CUDARTAPI_CDECL
#endif
