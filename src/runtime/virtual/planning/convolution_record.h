// The largest memory that cuDNN may have taken for a convolution, for `torchport plan`
// (python/torchport/virtual/outside/cudnn.py). What is known of its workspaces is counted like all
// memory (operators/workspaces_of_convolutions.h); nobody publishes the others.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

namespace torchport::vdev {

// `copies` and `tried` are those of ConvolutionBounds. `passes`: how many are computed of the
// forward pass, or of the gradients of input and weight. Thread safe.
void record_convolution(c10::DeviceIndex device, std::uint64_t copies, std::uint64_t tried,
                        bool is_gradient, int passes);

}  // namespace torchport::vdev
