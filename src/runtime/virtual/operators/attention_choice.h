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
constexpr std::int64_t kCudnnAttention = 3;

// The kernel that a device of this process's profile takes for tensors (batch, heads, length,
// size), dense or nested: the first in PyTorch's order of priority that the program allows and that
// takes these types and sizes (attention_rules.h). Raises c10::Error if the program allows none,
// and "No available kernel. Aborting execution.", after a warning for each kernel that says why, if
// none of those that it allows can.
//
// With the CPU's random numbers, attention with dropout is computed step by step where the program
// allows that.
[[nodiscard]] std::int64_t attention_on_cuda(const at::Tensor& query, const at::Tensor& key,
                                             const at::Tensor& value,
                                             const std::optional<at::Tensor>& mask, double dropout,
                                             bool causal, bool grouped);

}  // namespace torchport::vdev
