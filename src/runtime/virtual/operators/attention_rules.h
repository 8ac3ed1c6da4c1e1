// Says which of CUDA's fused kernels of attention take a call on a device of this process's
// profile.
//
// Each function returns whether the kernel takes the call, and warns of the first reason if it does
// not and `says` is set. Source of the rules and of the words:
// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp of torch 2.13. The checks that it shares
// with the CPU are torch's own, from sdp_utils_cpp.h.
#pragma once

#include <ATen/native/transformers/sdp_utils_cpp.h>

namespace torchport::vdev {

[[nodiscard]] bool takes_flash_attention(const sdp::sdp_params& call, bool says);
[[nodiscard]] bool takes_efficient_attention(const sdp::sdp_params& call, bool says);
[[nodiscard]] bool takes_cudnn_attention(const sdp::sdp_params& call, bool says);

// Whether PyTorch prefers cuDNN's kernel on this device: from cuDNN 9.15.2 on, on Hopper and
// Blackwell for data centres, unless TORCH_CUDNN_SDPA_DEPRIORITIZED=1.
[[nodiscard]] bool prefers_cudnn_attention();

}  // namespace torchport::vdev
