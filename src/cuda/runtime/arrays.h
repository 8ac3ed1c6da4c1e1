// Arrays of texels, and the textures that read them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "driver_types.h"

// Rows lie behind each other.
struct cudaArray {
  cudaChannelFormatDesc format{};
  cudaExtent extent{};  // height and depth are 0 where there are none, as the program gave them
  unsigned flags = 0;
  int device = 0;
  std::size_t element = 0;  // bytes of a texel
  char* data = nullptr;
  bool owns = true;

  [[nodiscard]] std::size_t width_bytes() const { return extent.width * element; }
  [[nodiscard]] std::size_t rows() const { return extent.height == 0 ? 1 : extent.height; }
  [[nodiscard]] std::size_t slices() const { return extent.depth == 0 ? 1 : extent.depth; }
};

struct cudaMipmappedArray {
  std::vector<cudaArray*> levels;
};

namespace torchport::cuda {

bool is_array(const cudaArray* array);
std::size_t bytes_of_format(const cudaChannelFormatDesc& format);

}  // namespace torchport::cuda
