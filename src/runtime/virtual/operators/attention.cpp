// Implements scaled dot product attention on dense tensors, under the names of kernels that a
// program on CUDA sees in its autograd graph and its profile. Which of them is taken is the
// device's choice on CUDA (attention_choice.h); other devices use the memory-efficient name where
// the CPU uses its fused kernel, so that they have the CPU's bits. The CPU's fused kernel computes
// where it can (attention_call.h).
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_efficient_attention_backward.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/TensorImpl.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/attention_call.h"
#include "runtime/virtual/operators/attention_choice.h"
#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// A CPU tensor with the sizes and type of this one, but without bytes, for the choice of a kernel.
// Tensors of FakeTensorMode and of vmap have no bytes.
Tensor outline(const Tensor& tensor) {
  const c10::TensorImpl& like = *tensor.unsafeGetTensorImpl();
  Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::Storage::use_byte_size_t(), 0, c10::GetCPUAllocator(), false),
      c10::DispatchKeySet(c10::DispatchKey::CPU), like.dtype());
  c10::TensorImpl& impl = *result.unsafeGetTensorImpl();
  if (like.has_symbolic_sizes_strides())
    impl.set_sizes_and_strides(like.sym_sizes(), like.sym_strides());
  else
    impl.set_sizes_and_strides(like.sizes(), like.strides());
  if (tensor.requires_grad()) impl.set_requires_grad(true);
  return result;
}

std::int64_t choice(const Tensor& query, const Tensor& key, const Tensor& value,
                    const MaybeTensor& mask, double dropout, bool causal,
                    std::optional<double> scale, bool grouped) {
  if (query.is_cuda()) return attention_on_cuda(query, key, value, mask, dropout, causal, grouped);
  if (query.is_nested() || key.is_nested() || value.is_nested()) return kMathAttention;
  const MaybeTensor outlined = has(mask) ? MaybeTensor(outline(*mask)) : std::nullopt;
  // Calls the CPU's kernel directly: Python modes would not accept these tensors.
  const std::int64_t chosen = at::_ops::_fused_sdp_choice::redispatch(
      c10::DispatchKeySet(c10::DispatchKey::CPU), outline(query), outline(key), outline(value),
      outlined, dropout, causal, scale, grouped);
  if (chosen == kFlashAttention) return kEfficientAttention;
  // torch.nn.attention.sdpa_kernel allows only the efficient kernel, which the CPU does not have.
  const at::Context& context = at::globalContext();
  const bool only_efficient = context.userEnabledMemEfficientSDP() &&
                              !context.userEnabledFlashSDP() && !context.userEnabledMathSDP();
  return only_efficient && dropout == 0.0 ? kEfficientAttention : chosen;
}

// The kernels take (batch, step, head, element).
Tensor steps_first(const Tensor& tensor) {
  return tensor.transpose(1, 2);
}

// sdp::CustomMaskType
std::int64_t mask_of_causal(bool causal) {
  return causal ? 1 : 0;
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& query, const Tensor& key,
                                                     const Tensor& value, const MaybeTensor& bias,
                                                     bool with_logsumexp, double dropout,
                                                     bool causal, std::optional<double> scale) {
  check_on_one_device("_scaled_dot_product_efficient_attention",
                      {{"query", query}, {"key", key}, {"value", value}, {"attn_bias", bias}});
  const MaybeTensor whole =
      has(bias)
          ? MaybeTensor(bias->expand({query.size(0), query.size(1), query.size(2), key.size(2)}))
          : std::nullopt;
  auto [output, logsumexp, seed, offset, queries, keys] = at::_efficient_attention_forward(
      steps_first(query), steps_first(key), steps_first(value), whole, std::nullopt, std::nullopt,
      std::nullopt, std::nullopt, dropout, mask_of_causal(causal), with_logsumexp, scale);
  return {steps_first(output), logsumexp, seed, offset};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& bias, const Tensor& out, const Tensor& logsumexp, const Tensor& seed,
    const Tensor& offset, double dropout, std::array<bool, 4> wanted, bool causal,
    std::optional<double> scale) {
  if (!grad.defined()) return {};
  const bool of_bias = wanted[3] && bias.defined();
  const MaybeTensor whole =
      bias.defined()
          ? MaybeTensor(bias.expand({query.size(0), query.size(1), query.size(2), key.size(2)}))
          : std::nullopt;
  auto [of_query, of_key, of_value, of_the_bias] = at::_efficient_attention_backward(
      steps_first(grad), steps_first(query), steps_first(key), steps_first(value), whole,
      steps_first(out), std::nullopt, std::nullopt, query.size(2), key.size(2), logsumexp, dropout,
      seed, offset, mask_of_causal(causal), of_bias, scale);
  return {wanted[0] ? steps_first(of_query) : Tensor(), wanted[1] ? steps_first(of_key) : Tensor(),
          wanted[2] ? steps_first(of_value) : Tensor(),
          of_bias ? of_the_bias.sum_to_size(bias.sizes()) : Tensor()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor> flash(
    const Tensor& query, const Tensor& key, const Tensor& value, double dropout, bool causal,
    bool debug, std::optional<double> scale) {
  check_on_one_device("_scaled_dot_product_flash_attention",
                      {{"query", query}, {"key", key}, {"value", value}});
  TORCH_CHECK(key.size(2) == value.size(2), "Key and Value must have the same sequence length");
  auto [output, logsumexp, state, unused, mask] = at::_flash_attention_forward(
      steps_first(query), steps_first(key), steps_first(value), std::nullopt, std::nullopt,
      query.size(2), key.size(2), dropout, causal, debug, scale);
  return {steps_first(output), logsumexp, Tensor(), Tensor(), query.sym_size(2),
          key.sym_size(2),     state,     unused,   mask};
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& out, const Tensor& logsumexp, const Tensor& sums_of_query,
    const Tensor& sums_of_key, c10::SymInt queries, c10::SymInt keys, double dropout, bool causal,
    const Tensor& state, const Tensor& unused, std::optional<double> scale) {
  if (!grad.defined()) return {};
  auto [of_query, of_key, of_value] = at::_flash_attention_backward_symint(
      steps_first(grad), steps_first(query), steps_first(key), steps_first(value), steps_first(out),
      logsumexp, sums_of_query, sums_of_key, std::move(queries), std::move(keys), dropout, causal,
      state, unused, scale);
  return {steps_first(of_query), steps_first(of_key), steps_first(of_value)};
}

// Raises what torch's own scaled_dot_product_attention raises for these inputs.
void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value,
                  const MaybeTensor& mask) {
  TORCH_CHECK(
      query.dtype() == key.dtype() && query.dtype() == value.dtype(),
      "Expected query, key, and value to have the same dtype, but got query.dtype: ", query.dtype(),
      " key.dtype: ", key.dtype(), " and value.dtype: ", value.dtype(), " instead.");
  TORCH_CHECK(query.device() == key.device() && query.device() == value.device(),
              "Expected query, key, and value to have the same device type, but got query.device: ",
              query.device(), " key.device: ", key.device(), " and value.device: ", value.device(),
              " instead.");
  TORCH_CHECK(
      query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
      "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ",
      query.dim(), " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  if (!has(mask)) return;
  const at::ScalarType type = mask->scalar_type();
  TORCH_CHECK(type == at::kBool || type == at::kFloat || type == query.scalar_type(),
              "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
              "attn_mask.dtype: ",
              mask->dtype(), " and  query.dtype: ", query.dtype(), " instead.");
}

// A mask that is added to the products, from one that says which of them take part.
MaybeTensor as_bias(const MaybeTensor& mask, at::ScalarType type) {
  if (!has(mask) || mask->scalar_type() != at::kBool) return mask;
  return at::zeros_symint(mask->sym_sizes(), mask->options().dtype(type))
      .masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

// scaled_dot_product_attention for devices that torch's stub refuses. The CPU build asks it about
// every device, and it raises for those that it was not compiled for.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const MaybeTensor& mask, double dropout, bool causal, std::optional<double> scale,
                 bool grouped) {
  if (query.device().type() != Runtime::get().kind().type)
    return at::native::scaled_dot_product_attention(query, key, value, mask, dropout, causal, scale,
                                                    grouped);
  check_inputs(query, key, value, mask);
  const std::int64_t chosen = choice(query, key, value, mask, dropout, causal, scale, grouped);
  TORCH_CHECK(chosen >= 0, "No viable backend for scaled_dot_product_attention was found.");
  const MaybeTensor bias = as_bias(mask, query.scalar_type());
  if (chosen != kEfficientAttention)
    return std::get<0>(at::_scaled_dot_product_attention_math(
        query, key, value, bias, dropout, causal, std::nullopt, scale, grouped));
  const bool wants_grad = at::GradMode::is_enabled() &&
                          (query.requires_grad() || key.requires_grad() || value.requires_grad());
  return std::get<0>(at::_scaled_dot_product_efficient_attention(
      query, key, value, bias, wants_grad, dropout, causal, scale));
}

// The operator is composed of others. This replaces the composition for all devices and modes, and
// the two copies of it that torch.vmap calls.
void put_composition(torch::Library&) {
  const c10::DeviceType type = Runtime::get().kind().type;
  if (type != c10::DeviceType::MPS && type != c10::DeviceType::XPU) return;
  for (const c10::DispatchKey key :
       {c10::DispatchKey::CompositeImplicitAutograd, c10::DispatchKey::FuncTorchVmapMode,
        c10::DispatchKey::FuncTorchBatchedDecomposition}) {
    // Never destroyed: the kernels stay registered as long as the process lives.
    auto& library = *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
    library.impl("scaled_dot_product_attention", TORCH_FN(attention));
  }
}

void put_attention(torch::Library& aten) {
  // scaled_dot_product_attention calls the stub only for devices that have one.
  const c10::DispatchKey key = Runtime::get().kind().dense;
  if (key == c10::DispatchKey::CUDA)
    at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choice);
  if (key == c10::DispatchKey::PrivateUse1)
    at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&choice);
  aten.impl("_fused_sdp_choice", TORCH_FN(choice));
  aten.impl("_scaled_dot_product_efficient_attention", TORCH_FN(efficient));
  aten.impl("_scaled_dot_product_efficient_attention_backward", TORCH_FN(efficient_backward));
  aten.impl("_scaled_dot_product_flash_attention", TORCH_FN(flash));
  aten.impl("_scaled_dot_product_flash_attention_backward", TORCH_FN(flash_backward));
}

void put_nested_choice(torch::Library& aten) {
  aten.impl("_fused_sdp_choice", TORCH_FN(choice));
}

const OperatorGroup kAttention(&put_attention);
const OperatorGroup kNestedChoice(&put_nested_choice, {&KindKeys::nested});
const OperatorGroup kComposition(&put_composition);

}  // namespace

}  // namespace torchport::vdev
