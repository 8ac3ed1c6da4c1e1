#include "runtime/virtual/operators/attention_choice.h"

#include <mutex>
#include <vector>

#include <ATen/Context.h>

#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/operators/attention_rules.h"

namespace torchport::vdev {

namespace {

[[noreturn]] void refuse_attention(const sdp::sdp_params& call) {
  TORCH_WARN("Memory efficient kernel not used because:");
  static_cast<void>(takes_efficient_attention(call, true));
  TORCH_WARN("Flash attention kernel not used because:");
  static_cast<void>(takes_flash_attention(call, true));
  TORCH_WARN("cuDNN attention kernel not used because:");
  static_cast<void>(takes_cudnn_attention(call, true));
  TORCH_CHECK(false, "No available kernel. Aborting execution.");
}

// PyTorch sets the order when it chooses for the first time, also over one that the program set.
void set_order_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (prefers_cudnn_attention())
      at::globalContext().setSDPPriorityOrder(
          {kCudnnAttention, kFlashAttention, kEfficientAttention, kMathAttention});
  });
}

}  // namespace

std::int64_t attention_on_cuda(const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value, const std::optional<at::Tensor>& mask,
                               double dropout, bool causal, bool grouped) {
  at::Context& context = at::globalContext();
  const bool step_by_step = context.userEnabledMathSDP();
  TORCH_CHECK(step_by_step || context.userEnabledFlashSDP() ||
                  context.userEnabledMemEfficientSDP() || context.userEnabledCuDNNSDP(),
              "No viable backend for scaled_dot_product_attention was found. This is likely due to "
              "turning off both the math kernel and the fused kernels.");
  const sdp::sdp_params call{query, key, value, mask, dropout, causal, grouped};
  set_order_once();
  // A program that draws the CPU's numbers drops what it drops on the CPU.
  if (step_by_step && dropout > 0.0 && !draws_as_device()) return kMathAttention;
  for (const at::SDPBackend backend : context.sDPPriorityOrder()) {
    switch (backend) {
      case at::SDPBackend::flash_attention:
        if (takes_flash_attention(call, false)) return kFlashAttention;
        break;
      case at::SDPBackend::efficient_attention:
        if (takes_efficient_attention(call, false)) return kEfficientAttention;
        break;
      case at::SDPBackend::cudnn_attention:
        if (takes_cudnn_attention(call, false)) return kCudnnAttention;
        break;
      case at::SDPBackend::math:
        if (step_by_step) return kMathAttention;
        break;
      default:
        break;
    }
  }
  refuse_attention(call);
}

}  // namespace torchport::vdev
