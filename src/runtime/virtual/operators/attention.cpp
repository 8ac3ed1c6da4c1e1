// Implements scaled dot product attention. CUDA's flash and memory-efficient attention are the
// CPU's fused kernel here, under the names that a program on CUDA sees in its autograd graph and
// its profile. Which of them is taken is the device's choice on CUDA (attention_choice.h); other
// devices use the memory-efficient name where the CPU uses its fused kernel, so that they have the
// CPU's bits.
#include <array>
#include <limits>
#include <tuple>

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/TensorImpl.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/attention_choice.h"
#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// Raises for what CUDA's kernels do and the CPU's fused kernel does not: dropout.
void check_no_dropout(const char* name, double dropout) {
  TORCH_CHECK_NOT_IMPLEMENTED(dropout == 0.0, "torchport: ", name,
                              " with dropout is not supported by virtual devices; call "
                              "scaled_dot_product_attention, which uses another kernel there");
}

// Checks what the generated wrapper of the efficient kernel checks. The CPU's kernel would take a
// mask from any device.
void check_devices(const Tensor& query, const Tensor& key, const Tensor& value,
                   const MaybeTensor& bias) {
  static const std::string kMethod = std::string("wrapper_") +
                                     c10::toString(Runtime::get().kind().dense) +
                                     "___scaled_dot_product_efficient_attention";
  const char* method = kMethod.c_str();
  std::optional<c10::Device> common;
  c10::impl::check_and_update_common_device(common, query, method, "query");
  c10::impl::check_and_update_common_device(common, key, method, "key");
  c10::impl::check_and_update_common_device(common, value, method, "value");
  c10::impl::check_and_update_common_device(common, bias, method, "attn_bias");
}

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
  if (query.is_nested() || key.is_nested() || value.is_nested()) return kMathAttention;
  if (query.is_cuda()) return attention_on_cuda(query, key, value, mask, dropout, causal, grouped);
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

Tensor no_seed() {
  return at::empty({}, at::TensorOptions().dtype(at::kLong));
}

// The real kernels write (batch, step, head, element), in whatever layout the query is.
Tensor laid_out(const Tensor& output) {
  return output.transpose(1, 2).contiguous().transpose(1, 2);
}

// The efficient kernel pads its rows of logarithms, and returns none if they are not wanted.
Tensor padded_sums(const Tensor& logsumexp, bool wanted) {
  constexpr std::int64_t kAlign = 32;
  if (!wanted) return at::empty({logsumexp.size(0), logsumexp.size(1), 0}, logsumexp.options());
  const std::int64_t missing = (kAlign - logsumexp.size(2) % kAlign) % kAlign;
  return at::constant_pad_nd(logsumexp.contiguous(), {0, missing},
                             std::numeric_limits<double>::infinity());
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& query, const Tensor& key,
                                                     const Tensor& value, const MaybeTensor& bias,
                                                     bool with_logsumexp, double dropout,
                                                     bool causal, std::optional<double> scale) {
  check_no_dropout("_scaled_dot_product_efficient_attention", dropout);
  check_devices(query, key, value, bias);
  auto [output, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
      query, key, value, dropout, causal, bias, scale);
  return {laid_out(output), padded_sums(logsumexp, with_logsumexp), no_seed(), no_seed()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& bias, const Tensor& out, const Tensor& logsumexp, const Tensor&, const Tensor&,
    double dropout, std::array<bool, 4> wanted, bool causal, std::optional<double> scale) {
  if (!grad.defined()) return {};
  check_no_dropout("_scaled_dot_product_efficient_attention_backward", dropout);
  TORCH_CHECK_NOT_IMPLEMENTED(
      !wanted[3] || !bias.defined(),
      "torchport: _scaled_dot_product_efficient_attention_backward for a mask that requires grad "
      "is not supported by virtual devices; allow SDPBackend.MATH");
  const MaybeTensor mask = bias.defined() ? MaybeTensor(bias) : std::nullopt;
  const Tensor rows = logsumexp.narrow(2, 0, query.size(2));
  auto [grad_query, grad_key, grad_value] =
      at::_scaled_dot_product_flash_attention_for_cpu_backward(grad, query, key, value, out, rows,
                                                               dropout, causal, mask, scale);
  return {wanted[0] ? grad_query : Tensor(), wanted[1] ? grad_key : Tensor(),
          wanted[2] ? grad_value : Tensor(), Tensor()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor> flash(
    const Tensor& query, const Tensor& key, const Tensor& value, double dropout, bool causal, bool,
    std::optional<double> scale) {
  check_no_dropout("_scaled_dot_product_flash_attention", dropout);
  auto [output, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
      query, key, value, dropout, causal, std::nullopt, scale);
  return {output,    logsumexp,         Tensor(),
          Tensor(),  query.sym_size(2), key.sym_size(2),
          no_seed(), no_seed(),         at::zeros({0}, query.options())};
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(const Tensor& grad, const Tensor& query,
                                                  const Tensor& key, const Tensor& value,
                                                  const Tensor& out, const Tensor& logsumexp,
                                                  const Tensor&, const Tensor&, c10::SymInt,
                                                  c10::SymInt, double dropout, bool causal,
                                                  const Tensor&, const Tensor&,
                                                  std::optional<double> scale) {
  if (!grad.defined()) return {};
  check_no_dropout("_scaled_dot_product_flash_attention_backward", dropout);
  return at::_scaled_dot_product_flash_attention_for_cpu_backward(
      grad, query, key, value, out, logsumexp, dropout, causal, std::nullopt, scale);
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

const OperatorGroup kAttention(&put_attention);
const OperatorGroup kComposition(&put_composition);

}  // namespace

}  // namespace torchport::vdev
