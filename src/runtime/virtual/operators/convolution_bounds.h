// Bounds of what cuDNN takes for a convolution, from its sizes: for plans, which cannot know which
// kernel cuDNN chooses.
#pragma once

#include <cstdint>

#include "runtime/virtual/operators/convolution_call.h"

namespace torchport::vdev {

// Bounds of one pass, in bytes.
struct ConvolutionBounds {
  // Input, weight and output in the layout of tensor cores, the channels padded to 16 bytes.
  std::uint64_t copies = 0;
  // The largest that cuDNN.benchmark may try: these copies, Fourier transforms of the whole images
  // or of tiles (S. Chetlur et al., "cuDNN: efficient primitives for deep learning", 2014; N.
  // Vasilache et al., "Fast convolutional nets with fbfft", 2015), Winograd's transforms of tiles
  // (A. Lavin, S. Gray, "Fast algorithms for convolutional neural networks", 2016). Matrices of all
  // patches (im2col), which are larger, are not counted.
  std::uint64_t tried = 0;
};

// `output`: its elements. REQUIRED: three dimensions or more, and an input with elements.
[[nodiscard]] ConvolutionBounds bounds_of(const ConvolutionCall& call, std::int64_t output);

}  // namespace torchport::vdev
