// Makes the structs of CUDA's runtime.
#pragma once

#include "driver_types.h"

static inline struct cudaPitchedPtr make_cudaPitchedPtr(void* data, size_t pitch, size_t width,
                                                        size_t height) {
  struct cudaPitchedPtr made = {data, pitch, width, height};
  return made;
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
  struct cudaPos made = {x, y, z};
  return made;
}
static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  struct cudaExtent made = {width, height, depth};
  return made;
}
