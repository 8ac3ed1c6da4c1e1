// The gradients of a batch norm in half types as CUDA's kernels compute them (Normalization.cuh):
// in float32, but for the products and the exchanges of threads, which are rounded to the type of
// the input. No torch, so that the loops are compiled for several CPUs.
#pragma once

#include <cstdint>

namespace torchport::device {

enum class HalfType : std::uint8_t { kFloat16, kBFloat16 };

// The bits of one channel of `grad` and `input` [batches, channels, places]: the places follow each
// other, and `step` elements are from one batch to the next.
struct HalfChannel {
  const std::uint16_t* grad;
  const std::uint16_t* input;
  std::int64_t batches;
  std::int64_t places;
  std::int64_t step;
  float mean;
};

struct BatchNormSums {
  float grad = 0;
  float product = 0;  // of the gradient and the input less its mean
};

// As a block of threads adds up a channel (reduce() there): the threads, the warps, one warp of
// their sums.
BatchNormSums sums_of_block(HalfType type, const HalfChannel& channel);

// The gradient of an input is ((grad - mean_grad) - (input - mean) * slope) * scale.
struct InputGradient {
  float mean_grad = 0;
  float slope = 0;
  float scale = 1;
};

// Writes a channel of the gradient of the input, which has the layout of the channel.
void gradient_of_channel(HalfType type, const HalfChannel& channel, const InputGradient& gradient,
                         std::uint16_t* out);

}  // namespace torchport::device
