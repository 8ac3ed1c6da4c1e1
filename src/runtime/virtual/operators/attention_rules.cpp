#include "runtime/virtual/operators/attention_rules.h"

#include <array>
#include <limits>

#include <ATen/Context.h>
#include <c10/util/env.h>

#include "runtime/virtual/core/build_facts.h"
#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

using sdp::sdp_params;

int capability() {
  const devices::Profile& profile = *Runtime::get().profile();
  return profile.major * 10 + profile.minor;
}

bool is_half(const sdp_params& call) {
  return call.query.scalar_type() == at::kHalf || call.query.scalar_type() == at::kBFloat16;
}

// How many heads of keys and values a kernel takes for grouped queries.
enum class Grouped : std::uint8_t { kNone, kEqual, kAny };

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
  if (grouped == Grouped::kEqual && of_key != of_value)
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

bool is_on_device(const sdp_params& call, bool says) {
  if (call.query.is_cuda()) return true;
  if (says) {
    TORCH_WARN("All tensors need to be on cuda device. Got query on device: ", call.query.device(),
               ", key on device: ", call.key.device(), ", value on device: ", call.value.device());
  }
  return false;
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
  if (!call.is_causal || call.query.is_nested() || call.key.is_nested()) return true;
  const auto queries = call.query.sym_size(-2);
  const auto keys = call.key.sym_size(-2);
  if (queries == keys) return true;
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

// Devices with less shared memory have no backward kernel for the largest heads.
bool takes_training_of_flash(const sdp_params& call, bool says) {
  const int own = capability();
  const bool small = (own >= 86 && own <= 89) || own == 120 || own == 121;
  const auto size = call.query.sym_size(-1);
  if (!small || !sdp::input_requires_grad(call) || size <= 192 ||
      (size > 224 && call.dropout == 0.0))
    return true;
  if (says) {
    TORCH_WARN(
        "Flash attention currently doesn't support training with head_dim ∈ (192, 224] or "
        "(head_dim ∈ (224, 256] and dropout > 0.0) on gpu architectures in the range[sm86, "
        "sm89].Attempting to run with dropout set to: ",
        call.dropout, "and head_dim: ", size, " on a sm ", own / 10, ".", own % 10, " gpu.");
  }
  return false;
}

bool takes_nested_of_flash(const sdp_params& call, bool says) {
  if (!sdp::check_batch_size_nested(call, says)) return false;
  const auto size = call.query.sym_size(-1);
  if (size % 8 != 0) {
    if (says) {
      TORCH_WARN(
          "For NestedTensor inputs, Flash attention requires q,k,v to have the same last dimension "
          "and to be a multiple of 8 and less than or equal to 256. Got Query.size(-1): ",
          size, ", Key.size(-1): ", call.key.sym_size(-1),
          ", Value.size(-1): ", call.value.sym_size(-1), " instead.");
    }
    return false;
  }
  return sdp::check_for_seq_len_0_nested_tensor(call, says);
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

long cudnn_version() {
  const long version = cuda_build_for(capability() / 10, capability() % 10).cudnn;
  return version == 0 ? std::numeric_limits<long>::max() : version;
}

bool takes_nested_of_cudnn(const sdp_params& call, bool says) {
  if (!sdp::has_for_nested_inputs(call)) return true;
  const char* reason = nullptr;
  const int major = capability() / 10;
  if (c10::utils::check_env("TORCH_CUDNN_SDPA_NESTED_TENSOR_ENABLED") != true)
    reason = "Experimental cuDNN SDPA nested tensor support is not enabled.";
  else if (major != 9 && major != 10)
    reason = "cuDNN SDPA supports nested tensors on SM 9.0, SM 10.0.";
  if (reason == nullptr) return true;
  if (says) {
    TORCH_WARN(reason);
  }
  return false;
}

std::int64_t largest_head_of_cudnn(const sdp_params& call) {
  constexpr std::int64_t kUsual = 128;
  constexpr std::int64_t kOfHopper = 256;
  constexpr std::int64_t kOfLatent = 192;
  if (capability() == 90 && cudnn_version() >= 91000) return kOfHopper;
  const bool latent = call.query.sym_size(-1) == kOfLatent && call.value.sym_size(-1) == kUsual;
  return latent && capability() / 10 == 10 && cudnn_version() >= 91100 ? kOfLatent : kUsual;
}

bool takes_sizes_of_cudnn(const sdp_params& call, bool says) {
  const std::int64_t most = largest_head_of_cudnn(call);
  const auto size = call.query.sym_size(-1);
  const auto value = call.value.sym_size(-1);
  const auto told = [&](const auto&... words) {
    if (says) {
      TORCH_WARN(words...);
    }
    return false;
  };
  if (size > most || value > most) return told("head_dim should be no more than ", most);
  if (size % 8 != 0 || value % 8 != 0) return told("head_dim should be a multiple of 8");
  if (call.key.sym_size(2) == 1)
    return told("cudnn SDPA does not support key/value sequence length 1.");
  if (call.query.sym_size(2) == 1 && call.dropout != 0.0)
    return told("cudnn SDPA does not support query sequence length 1 with dropout.");
  return true;
}

bool is_allowed_for_cudnn(const sdp_params& call, bool says) {
  if (!at::globalContext().userEnabledCuDNNSDP()) {
    if (says) {
      TORCH_WARN("cuDNN attention has been runtime disabled.");
    }
    return false;
  }
  if (call.dropout > 0.0 && cudnn_version() > 91100 && cudnn_version() < 91400) {
    if (says) {
      TORCH_WARN(cudnn_version(),
                 " cuDNN version does not support droppout in SDPA (9.11 - 9.13).");
    }
    return false;
  }
  return true;
}

bool is_deterministic_for_cudnn(bool says) {
  const at::Context& context = at::globalContext();
  if (!context.deterministicAlgorithms() || context.deterministicAlgorithmsWarnOnly()) return true;
  if (says) {
    TORCH_WARN("cuDNN SDPA is not deterministic.");
  }
  return false;
}

}  // namespace

bool takes_flash_attention(const sdp_params& call, bool says) {
  return sdp::check_runtime_disabled_flash(call, says) && is_on_device(call, says) &&
         sdp::check_tensor_shapes(call, says) && sdp::check_for_attn_mask(call, says) &&
         takes_head_size_of_flash(call, says) && is_new_enough(80, "Flash attention", says) &&
         takes_training_of_flash(call, says) && takes_causal_of_flash(call, says) &&
         sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kBFloat16}, says) &&
         (!sdp::has_for_nested_inputs(call) || takes_nested_of_flash(call, says)) &&
         (!sdp::has_only_dense_inputs(call) || takes_dense<true>(call, Grouped::kEqual, says));
}

bool takes_efficient_attention(const sdp_params& call, bool says) {
  if (!sdp::check_runtime_disabled_mem_efficient(call, says) || !is_on_device(call, says) ||
      !sdp::check_tensor_shapes(call, says) || !takes_head_size_of_efficient(call, says))
    return false;
  if (sdp::has_for_nested_inputs(call) && !(sdp::check_requires_grad_and_nested(call, says) &&
                                            sdp::check_batch_size_nested(call, says) &&
                                            sdp::check_for_seq_len_0_nested_tensor(call, says)))
    return false;
  if (sdp::has_only_dense_inputs(call) && !takes_dense<false>(call, Grouped::kNone, says))
    return false;
  return capability() >= 80
             ? sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kFloat, at::kBFloat16}, says)
             : sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kFloat}, says);
}

bool takes_cudnn_attention(const sdp_params& call, bool says) {
  return is_allowed_for_cudnn(call, says) && takes_nested_of_cudnn(call, says) &&
         is_on_device(call, says) && sdp::check_tensor_shapes(call, says) &&
         is_deterministic_for_cudnn(says) &&
         (capability() >= 80
              ? sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kBFloat16}, says)
              : sdp::check_tensor_dtype(call, std::array{at::kHalf}, says)) &&
         sdp::check_attn_mask_shape(call, says) && is_new_enough(80, "cuDNN MHA", says) &&
         (!sdp::has_only_dense_inputs(call) ||
          (takes_dense<true>(call, Grouped::kAny, says) && takes_sizes_of_cudnn(call, says)));
}

bool prefers_cudnn_attention() {
  constexpr long kLastWithFault = 91500;
  if (c10::utils::check_env("TORCH_CUDNN_SDPA_DEPRIORITIZED") == true) return false;
  const int major = capability() / 10;
  const int minor = capability() % 10;
  return cudnn_version() > kLastWithFault && (major == 9 || major == 10) &&
         (minor == 0 || minor == 3);
}

}  // namespace torchport::vdev
