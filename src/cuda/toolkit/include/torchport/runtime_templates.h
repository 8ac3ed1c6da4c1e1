// The runtime's functions for C++: those that take a kernel or a pointer of any type.
#pragma once

#include "cuda_runtime_api.h"

template <class T>
inline cudaError_t cudaMalloc(T** data, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(data), bytes);
}
