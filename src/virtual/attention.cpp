// Scaled dot product attention. Where the CPU takes its fused kernel, virtual devices take
// CUDA's memory-efficient attention, and that is the CPU's fused kernel: the same bits, under the
// names that a program on CUDA sees (in its graph of autograd, in its profile).
#include <array>
#include <tuple>

#include <ATen/Context.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "virtual/alias.h"
#include "virtual/natives.h"
#include "virtual/runtime.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

// The numbers of sdp::SDPBackend.
constexpr std::int64_t kMath = 0;
constexpr std::int64_t kFlash = 1;
constexpr std::int64_t kEfficient = 2;

// What the CPU's fused kernel does not do, where CUDA's do.
void check_no_dropout(const char* name, double dropout) {
  TORCH_CHECK_NOT_IMPLEMENTED(dropout == 0.0, "torchport: ", name,
                              " with dropout is not known to virtual devices; call "
                              "scaled_dot_product_attention, which takes another way there");
}

Tensor alias_for_choice(Aliases& aliases, const Tensor& tensor) {
  Tensor alias = aliases.of(tensor);
  if (tensor.requires_grad()) alias.unsafeGetTensorImpl()->set_requires_grad(true);
  return alias;
}

std::int64_t choice(const Tensor& query, const Tensor& key, const Tensor& value,
                    const MaybeTensor& mask, double dropout, bool causal,
                    std::optional<double> scale, bool grouped) {
  if (query.is_nested() || key.is_nested() || value.is_nested()) return kMath;
  Aliases aliases;
  const MaybeTensor cpu_mask = mask.has_value() && mask->defined()
                                   ? MaybeTensor(alias_for_choice(aliases, *mask))
                                   : std::nullopt;
  const std::int64_t chosen = at::_fused_sdp_choice(
      alias_for_choice(aliases, query), alias_for_choice(aliases, key),
      alias_for_choice(aliases, value), cpu_mask, dropout, causal, scale, grouped);
  if (chosen == kFlash) return kEfficient;
  // Only the efficient one is allowed, by torch.nn.attention.sdpa_kernel: the CPU has none.
  const at::Context& context = at::globalContext();
  const bool only_efficient = context.userEnabledMemEfficientSDP() &&
                              !context.userEnabledFlashSDP() && !context.userEnabledMathSDP();
  return only_efficient && dropout == 0.0 ? kEfficient : chosen;
}

Tensor no_seed() {
  return at::empty({}, at::TensorOptions().dtype(at::kLong));
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& query, const Tensor& key,
                                                     const Tensor& value, const MaybeTensor& bias,
                                                     bool, double dropout, bool causal,
                                                     std::optional<double> scale) {
  check_no_dropout("_scaled_dot_product_efficient_attention", dropout);
  auto [output, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
      query, key, value, dropout, causal, bias, scale);
  return {output, logsumexp, no_seed(), no_seed()};
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
      "is not known to virtual devices; allow SDPBackend.MATH");
  const MaybeTensor mask = bias.defined() ? MaybeTensor(bias) : std::nullopt;
  auto [grad_query, grad_key, grad_value] =
      at::_scaled_dot_product_flash_attention_for_cpu_backward(
          grad, query, key, value, out, logsumexp, dropout, causal, mask, scale);
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

}  // namespace

void register_attention(torch::Library& aten) {
  // scaled_dot_product_attention asks the stub, and only for devices that have one.
  const c10::DispatchKey key = Runtime::get().kind().dense;
  if (key == c10::DispatchKey::CUDA)
    at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choice);
  aten.impl("_fused_sdp_choice", TORCH_FN(choice));
  aten.impl("_scaled_dot_product_efficient_attention", TORCH_FN(efficient));
  aten.impl("_scaled_dot_product_efficient_attention_backward", TORCH_FN(efficient_backward));
  aten.impl("_scaled_dot_product_flash_attention", TORCH_FN(flash));
  aten.impl("_scaled_dot_product_flash_attention_backward", TORCH_FN(flash_backward));
}

}  // namespace torchport::vdev
