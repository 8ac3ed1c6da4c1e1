// Implements scaled dot product attention on nested tensors (batch, head, {step}, element) of the
// strided layout: CUDA packs their sequences and calls the kernels for packed sequences.
// Sources: aten/src/ATen/native/nested/cuda/NestedTensorTransformerFunctions.cpp and
// NestedTensorTransformerUtils.cpp. Jagged tensors come to those kernels by themselves
// (torch/nested/_internal/sdpa.py).
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/native/nested/NestedTensorUtils.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using NestedFlash =
    std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

// Sequences in one tensor.
struct PackedSteps {
  Tensor steps;                       // (step, head, element)
  Tensor starts;                      // int32, on the device: where each begins, and the end
  std::vector<std::int64_t> lengths;  // of each
  std::int64_t longest = 0;
};

// Repeats a single batch or head as often as the others have it.
PackedSteps packed_sequences(const Tensor& tensor, std::int64_t batches, std::int64_t heads) {
  const std::vector<Tensor> own = tensor.unbind(0);
  PackedSteps result;
  std::vector<Tensor> parts;
  Tensor starts = at::empty({batches + 1}, at::kInt);
  auto* const start = starts.mutable_data_ptr<std::int32_t>();
  start[0] = 0;
  for (std::int64_t i = 0; i < batches; ++i) {
    const Tensor& sequence = own[own.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    const std::int64_t length = sequence.size(1);
    parts.push_back(sequence.expand({heads, length, sequence.size(2)}).transpose(0, 1));
    start[i + 1] = start[i] + static_cast<std::int32_t>(length);
    result.lengths.push_back(length);
    result.longest = std::max(result.longest, length);
  }
  result.steps = at::cat(parts);
  result.starts = starts.to(tensor.device());
  return result;
}

// A nested tensor (batch, head, {step}, element) over packed sequences.
Tensor nested_over(const Tensor& steps, const std::vector<std::int64_t>& lengths) {
  constexpr std::int64_t kSizes = 3;
  const auto batches = static_cast<std::int64_t>(lengths.size());
  Tensor sizes = at::empty({batches, kSizes}, at::kLong);
  auto* const size = sizes.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < batches; ++i) {
    size[i * kSizes] = lengths[static_cast<std::size_t>(i)];
    size[i * kSizes + 1] = steps.size(1);
    size[i * kSizes + 2] = steps.size(2);
  }
  return at::native::wrap_buffer(steps.contiguous().view(-1), sizes).transpose(1, 2);
}

std::int64_t nested_heads(const Tensor& tensor) {
  if (!tensor.is_nested()) return tensor.size(1);
  const std::optional<std::int64_t> heads = at::native::get_nested_tensor_impl(tensor)->opt_size(1);
  TORCH_CHECK(heads.has_value(), "Fused kernels do not support ragged num_head_dims");
  return *heads;
}

struct PackedInputs {
  PackedInputs(const Tensor& given_query, const Tensor& given_key, const Tensor& given_value) {
    const std::int64_t batches =
        std::max({given_query.size(0), given_key.size(0), given_value.size(0)});
    const std::int64_t heads =
        std::max({nested_heads(given_query), nested_heads(given_key), nested_heads(given_value)});
    query = packed_sequences(given_query, batches, heads);
    key = packed_sequences(given_key, batches, heads);
    value = packed_sequences(given_value, batches, heads);
  }

  PackedSteps query;
  PackedSteps key;
  PackedSteps value;
};

NestedFlash nested_flash(const Tensor& query, const Tensor& key, const Tensor& value,
                         double dropout, bool causal, bool debug, std::optional<double> scale) {
  const at::NoGradGuard no_grad;
  const PackedInputs in(query, key, value);
  auto [output, logarithms, state, unused, mask] = at::_flash_attention_forward(
      in.query.steps, in.key.steps, in.value.steps, in.query.starts, in.key.starts,
      in.query.longest, in.key.longest, dropout, causal, debug, scale);
  return {nested_over(output, in.query.lengths),
          logarithms,
          in.query.starts,
          in.key.starts,
          in.query.longest,
          in.key.longest,
          state,
          unused,
          mask};
}

std::tuple<Tensor, Tensor, Tensor> nested_flash_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& output, const Tensor& logarithms, const Tensor& starts_of_query,
    const Tensor& starts_of_key, c10::SymInt most_queries, c10::SymInt most_keys, double dropout,
    bool causal, const Tensor& state, const Tensor& unused, std::optional<double> scale) {
  if (!grad.defined()) return {};
  const at::NoGradGuard no_grad;
  const PackedInputs in(query, key, value);
  const std::int64_t batches = query.size(0);
  const std::int64_t heads = nested_heads(query);
  const auto [of_query, of_key, of_value] = at::_flash_attention_backward_symint(
      packed_sequences(grad, batches, heads).steps, in.query.steps, in.key.steps, in.value.steps,
      packed_sequences(output, batches, heads).steps, logarithms, starts_of_query, starts_of_key,
      std::move(most_queries), std::move(most_keys), dropout, causal, state, unused, scale);
  return {nested_over(of_query, in.query.lengths), nested_over(of_key, in.key.lengths),
          nested_over(of_value, in.value.lengths)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> nested_efficient(const Tensor& query, const Tensor& key,
                                                            const Tensor& value, const MaybeTensor&,
                                                            bool with_logarithms, double dropout,
                                                            bool causal,
                                                            std::optional<double> scale) {
  const at::NoGradGuard no_grad;
  const PackedInputs in(query, key, value);
  auto [output, logarithms, seed, offset, queries, keys] = at::_efficient_attention_forward(
      in.query.steps.unsqueeze(0), in.key.steps.unsqueeze(0), in.value.steps.unsqueeze(0),
      std::nullopt, in.query.starts, in.key.starts, in.query.longest, in.key.longest, dropout,
      causal ? 1 : 0, with_logarithms, scale);
  return {nested_over(output.squeeze(0), in.query.lengths), logarithms, seed, offset};
}

void put_nested_attention(torch::Library& aten) {
  if (Runtime::get().kind().type != c10::DeviceType::CUDA) return;
  aten.impl("_scaled_dot_product_flash_attention", TORCH_FN(nested_flash));
  aten.impl("_scaled_dot_product_flash_attention_backward", TORCH_FN(nested_flash_backward));
  aten.impl("_scaled_dot_product_efficient_attention", TORCH_FN(nested_efficient));
}

const OperatorGroup kNestedAttention(&put_nested_attention, {&KindKeys::nested});

}  // namespace

}  // namespace torchport::vdev
