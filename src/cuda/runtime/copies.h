// Copies and sets of memory: checks of their pointers, and the work itself.
#pragma once

#include <cstddef>

#include "driver_types.h"

namespace torchport::cuda {

// The errors of pointers, recorded of an H100 (program copies): what a kind calls device memory has
// to be known to the runtime, and to have as many bytes.
int check_copy(const void* to, const void* from, std::size_t bytes, int kind);
int check_set(const void* to, std::size_t bytes);

// A copy of a box: rows of `width` bytes.
struct Box {
  char* to = nullptr;
  const char* from = nullptr;
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  std::size_t to_slice = 0;
  std::size_t from_slice = 0;
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t depth = 1;
};
int copy_box(const Box& box, int kind, cudaStream_t stream, bool waits);
// What cudaMemcpy3D's parameters mean. Returns its error.
int box_of(const cudaMemcpy3DParms& p, Box& box);
// Sets elements of 1, 2 or 4 bytes.
int set_rows(void* to, std::size_t pitch, unsigned value, unsigned element, std::size_t width,
             std::size_t rows, cudaStream_t stream, bool waits);

}  // namespace torchport::cuda
