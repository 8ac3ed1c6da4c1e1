// printf, assert, malloc and free of kernels. On the host they are those of C's library.
#pragma once

#include <cassert>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

// Files of the host's compiler, which may have used these functions already, have no kernels.
#ifdef __CUDACC__

#define TORCHPORT_PRINTING_API __attribute__((visibility("default")))

extern "C" {
// `count`: how many values follow the format.
TORCHPORT_PRINTING_API int torchport_cuda_print(int count, const char* format, ...);
TORCHPORT_PRINTING_API int torchport_cuda_vprint(const char* format, va_list values);

// Each call of these in the program goes to the names on the right.
void* malloc(std::size_t bytes) noexcept __asm__("torchport_cuda_malloc");
void free(void* data) noexcept __asm__("torchport_cuda_free");
void __assert_fail(const char* expression, const char* file, unsigned int line,
                   const char* function) noexcept __asm__("torchport_cuda_assert_fail");
int vprintf(const char* format, va_list values) __asm__("torchport_cuda_vprint");

#ifndef __clang__  // which is only asked to read this
extern __inline __attribute__((__always_inline__, __gnu_inline__, __artificial__)) int printf(
    const char* format, ...) {
  return torchport_cuda_print(__builtin_va_arg_pack_len(), format, __builtin_va_arg_pack());
}
#endif
}

#endif
