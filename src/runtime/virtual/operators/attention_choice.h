// Chooses the kernel of scaled dot product attention as a CUDA device does.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace torchport::vdev {

// The values of sdp::SDPBackend.
constexpr std::int64_t kMathAttention = 0;
constexpr std::int64_t kFlashAttention = 1;
constexpr std::int64_t kEfficientAttention = 2;

// The kernel that a device of this process's profile takes for dense tensors (batch, heads, length,
// size): the first in PyTorch's order of priority that the program allows and that takes these
// types and sizes (sdp_utils.cpp). -1 if the program allows none; raises "No available kernel.
// Aborting execution.", after a warning for each kernel that says why, if none of those that it
// allows can.
//
// cuDNN's kernel stands behind the others, also on the devices that prefer it, and has the name of
// the flash kernel, or of the efficient one with a mask. With the CPU's random numbers, attention
// with dropout is computed step by step where the program allows that.
[[nodiscard]] std::int64_t attention_on_cuda(const at::Tensor& query, const at::Tensor& key,
                                             const at::Tensor& value,
                                             const std::optional<at::Tensor>& mask, double dropout,
                                             bool causal, bool grouped);

}  // namespace torchport::vdev
