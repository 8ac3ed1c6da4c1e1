// Source of the rules and of the words: aten/src/ATen/native/transformers/cuda/sdp_utils.cpp. The
// checks that it shares with the CPU are torch's own, from sdp_utils_cpp.h.
#include "runtime/virtual/operators/attention_choice.h"

#include <array>

#include <ATen/Context.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>

#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

using sdp::sdp_params;

int capability() {
  const devices::Profile& profile = *Runtime::get().spec().profile;
  return profile.major * 10 + profile.minor;
}

bool is_half(const sdp_params& call) {
  return call.query.scalar_type() == at::kHalf || call.query.scalar_type() == at::kBFloat16;
}

// How many heads of keys and values a kernel takes for grouped queries.
enum class Grouped : std::uint8_t { kNone, kEqual };

bool divides(const c10::SymInt& heads, const c10::SymInt& of_query) {
  return heads > 0 && of_query % heads == 0;
}

bool takes_heads(const sdp_params& call, Grouped grouped, bool says) {
  const auto told = [&](const char* words, const char* advice) {
    if (says) {
      TORCH_WARN(words, "Query.sizes(): ", call.query.sym_sizes(),
                 ", Key.sizes(): ", call.key.sym_sizes(),
                 ", Value.sizes(): ", call.value.sym_sizes(), " instead.", advice);
    }
    return false;
  };
  constexpr const char* kAdvice =
      " To broadcast dense inputs, try using unsqueeze and expand_to before passing them into the "
      "kernel.";
  const auto batches = call.query.sym_size(0);
  if (call.key.sym_size(0) != batches || call.value.sym_size(0) != batches)
    return told(
        "For dense inputs, both fused kernels require query, key and value to have the same "
        "batch_size. ",
        kAdvice);
  const auto heads = call.query.sym_size(1);
  const auto of_key = call.key.sym_size(1);
  const auto of_value = call.value.sym_size(1);
  if (!call.enable_gqa || grouped == Grouped::kNone) {
    return (of_key == heads && of_value == heads) ||
           told(
               "For dense input, both fused kernels require query, key and value to have the same "
               "num_heads. ",
               kAdvice);
  }
  if (of_key != of_value)
    return told(
        "Both fused kernels require key and value to have the same num_heads and batch_size but "
        "got: ",
        "");
  return (divides(of_key, heads) && divides(of_value, heads)) ||
         told("The number of heads in key/value must divide number of heads in query.", "");
}

template <bool kIgnoresSingle>
bool takes_dense(const sdp_params& call, Grouped grouped, bool says) {
  return takes_heads(call, grouped, says) &&
         sdp::check_nonzero_sequence_lengths_dense(call, says) &&
         sdp::check_last_dim_stride_equals_1_dense<kIgnoresSingle>(call, says);
}

bool is_new_enough(int wanted, const char* kernel, bool says) {
  const int own = capability();
  if (own >= wanted) return true;
  if (says) {
    TORCH_WARN(kernel, " only supports gpu architectures in the range [sm", wanted,
               ", sm121]. Attempting to run on a sm ", own / 10, ".", own % 10, " gpu.");
  }
  return false;
}

bool takes_head_size_of_flash(const sdp_params& call, bool says) {
  const auto size = call.query.sym_size(-1);
  if (size == call.key.sym_size(-1) && size == call.value.sym_size(-1) && size <= 256) return true;
  if (says) {
    TORCH_WARN(
        "Flash attention requires q,k,v to have the same last dimension and to be less than or "
        "equal "
        "to 256. Got Query.size(-1): ",
        size, ", Key.size(-1): ", call.key.sym_size(-1),
        ", Value.size(-1): ", call.value.sym_size(-1), " instead.");
  }
  return false;
}

bool takes_causal_of_flash(const sdp_params& call, bool says) {
  const auto queries = call.query.sym_size(-2);
  const auto keys = call.key.sym_size(-2);
  if (!call.is_causal || queries == keys) return true;
  if (says) {
    TORCH_WARN(
        "Flash attention does not support the is_causal flag when seqlen_q != seqlen_k. Got "
        "seqlen_q: ",
        queries, " seqlen_k: ", keys,
        ". If you would like to use causal attention with non-square masks, please see "
        "CausalAttnMask.");
  }
  return false;
}

bool can_flash(const sdp_params& call, bool says) {
  return sdp::check_runtime_disabled_flash(call, says) && sdp::check_tensor_shapes(call, says) &&
         sdp::check_for_attn_mask(call, says) && takes_head_size_of_flash(call, says) &&
         is_new_enough(80, "Flash attention", says) && takes_causal_of_flash(call, says) &&
         sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kBFloat16}, says) &&
         takes_dense<true>(call, Grouped::kEqual, says);
}

// The elements that the kernel loads at once: 128 bits where it uses tensor cores.
std::int64_t alignment_of_efficient(const sdp_params& call) {
  const int own = capability();
  const bool tensor_cores = own >= 80 || (own >= 70 && is_half(call));
  if (!tensor_cores) return 1;
  return is_half(call) ? 8 : 4;
}

bool takes_head_size_of_efficient(const sdp_params& call, bool says) {
  const std::int64_t alignment = alignment_of_efficient(call);
  const auto size = call.query.sym_size(-1);
  const auto value = call.value.sym_size(-1);
  if (size == call.key.sym_size(-1) && size > 0 && value > 0 && size % alignment == 0 &&
      value % alignment == 0)
    return true;
  if (says) {
    TORCH_WARN("Mem efficient attention requires last dimension of inputs to be divisible by ",
               alignment, ". Got Query.size(-1): ", size, ", Key.size(-1): ", call.key.sym_size(-1),
               ", Value.size(-1): ", value, " instead.");
  }
  return false;
}

bool can_efficient(const sdp_params& call, bool says) {
  if (!sdp::check_runtime_disabled_mem_efficient(call, says) ||
      !sdp::check_tensor_shapes(call, says) || !takes_head_size_of_efficient(call, says) ||
      !takes_dense<false>(call, Grouped::kNone, says))
    return false;
  return capability() >= 80
             ? sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kFloat, at::kBFloat16}, says)
             : sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kFloat}, says);
}

bool can_cudnn(const sdp_params& call, bool says) {
  if (!at::globalContext().userEnabledCuDNNSDP()) {
    if (says) {
      TORCH_WARN("cuDNN attention has been runtime disabled.");
    }
    return false;
  }
  if (!sdp::check_tensor_shapes(call, says) ||
      !sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kBFloat16}, says) ||
      !is_new_enough(80, "cuDNN MHA", says) || !takes_dense<true>(call, Grouped::kEqual, says))
    return false;
  const auto size = call.query.sym_size(-1);
  const auto value = call.value.sym_size(-1);
  if (size <= 128 && value <= 128 && size % 8 == 0 && value % 8 == 0) return true;
  if (says) {
    TORCH_WARN(size <= 128 && value <= 128 ? "head_dim should be a multiple of 8"
                                           : "head_dim should be no more than 128");
  }
  return false;
}

[[noreturn]] void refuse_attention(const sdp_params& call) {
  TORCH_WARN("Memory efficient kernel not used because:");
  static_cast<void>(can_efficient(call, true));
  TORCH_WARN("Flash attention kernel not used because:");
  static_cast<void>(can_flash(call, true));
  TORCH_WARN("cuDNN attention kernel not used because:");
  static_cast<void>(can_cudnn(call, true));
  TORCH_CHECK(false, "No available kernel. Aborting execution.");
}

}  // namespace

std::int64_t attention_on_cuda(const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value, const std::optional<at::Tensor>& mask,
                               double dropout, bool causal, bool grouped) {
  at::Context& context = at::globalContext();
  const bool step_by_step = context.userEnabledMathSDP();
  if (!step_by_step && !context.userEnabledFlashSDP() && !context.userEnabledMemEfficientSDP() &&
      !context.userEnabledCuDNNSDP())
    return -1;
  const sdp_params call{query, key, value, mask, dropout, causal, grouped};
  // A program that draws the CPU's numbers drops what it drops on the CPU.
  if (step_by_step && dropout > 0.0 && !draws_as_device()) return kMathAttention;
  if (query.is_nested() || key.is_nested() || value.is_nested()) return kMathAttention;
  for (const at::SDPBackend backend : context.sDPPriorityOrder()) {
    switch (backend) {
      case at::SDPBackend::flash_attention:
        if (can_flash(call, false)) return kFlashAttention;
        break;
      case at::SDPBackend::efficient_attention:
        if (can_efficient(call, false)) return kEfficientAttention;
        break;
      case at::SDPBackend::cudnn_attention:
        if (can_cudnn(call, false)) return call.attn_mask ? kEfficientAttention : kFlashAttention;
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
