// What the code of a function for torch.cuda.jiterator finds around it, and the loop over it, for the
// host. NVRTC has no headers of the standard library, so such code includes nothing.
#pragma once

// Half of the time of a compilation is the headers'. The special functions of C++17 are most of <math.h>,
// and a GPU does not have them; exceptions and strings are left to the runtime.
#if __has_include(<bits/c++config.h>)
#include <bits/c++config.h>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#endif
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "torchport_device_complex.h"
#include "torchport_device_half.h"
#include "torchport_device_math.h"

#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define POS_INFINITY INFINITY
#define NEG_INFINITY (-INFINITY)

// The host ends a program that divides an integer by zero; a GPU goes on with a number that is not
// defined. The compiler calls this before such a division (it is asked to by
// -fsanitize=integer-divide-by-zero), with its place in the source.
struct torchport_place {
  const char* file;
  unsigned line, column;
};
extern "C" [[noreturn]] __attribute__((visibility("hidden"))) void
__ubsan_handle_divrem_overflow_abort(const torchport_place* place, unsigned long, unsigned long) {
  static thread_local char text[512];
  snprintf(text, sizeof text,
           "%s:%u: an integer is divided by zero. On a GPU the result is not defined, and no error is "
           "raised.",
           place->file, place->line);
  throw static_cast<const char*>(text);  // jiterator.cpp of the runtime catches it
}

// The element at `place`. A bool is whatever is not zero.
template <class T>
inline T torchport_load(const char* place) {
  return *reinterpret_cast<const T*>(place);
}
template <>
inline bool torchport_load<bool>(const char* place) {
  return *place != 0;
}
// A number that the program gave beside the tensors, of its own type.
template <class T>
inline T torchport_number(const int64_t* words) {
  return *reinterpret_cast<const T*>(words);
}
template <>
inline bool torchport_number<bool>(const int64_t* words) {
  return *words != 0;
}
