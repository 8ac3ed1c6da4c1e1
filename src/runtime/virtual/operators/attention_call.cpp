#include "runtime/virtual/operators/attention_call.h"

#include <cmath>
#include <string>

#include <ATen/Context.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/half_products.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// Whether the mask of the band is none or the CPU kernel's own, which starts at the upper left.
bool has_simple_band(const AttentionCall& call) {
  if (!call.band.bounded()) return true;
  return call.band.left < 0 && call.band.right == 0 && call.band.shift == 0 && !has(call.bias);
}

bool fits_fused_kernel(const AttentionCall& call) {
  return call.dropout == nullptr && has_simple_band(call) &&
         call.value.size(3) == call.query.size(3) && call.value.size(1) == call.key.size(1) &&
         call.query.numel() > 0 && call.key.numel() > 0;
}

MaybeTensor whole_mask(const AttentionCall& call) {
  if (!has(call.bias)) return std::nullopt;
  return call.bias->expand(
      {call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2)});
}

// The call in float32, if the CPU's kernel is slow in its type.
AttentionCall in_fast_type(const AttentionCall& call) {
  AttentionCall fast = call;
  if (!is_attention_slow(call.query.scalar_type())) return fast;
  fast.query = call.query.to(at::kFloat);
  fast.key = call.key.to(at::kFloat);
  fast.value = call.value.to(at::kFloat);
  if (has(call.bias)) fast.bias = call.bias->to(at::kFloat);
  return fast;
}

std::uint64_t* seed_numbers(const Tensor& alias) {
  return static_cast<std::uint64_t*>(alias.mutable_data_ptr());
}

}  // namespace

Attended attend(const AttentionCall& call) {
  if (!fits_fused_kernel(call)) return attend_by_steps(call);
  const AttentionCall fast = in_fast_type(call);
  const auto [output, logarithms] = at::_scaled_dot_product_flash_attention_for_cpu(
      fast.query, fast.key, fast.value, 0.0, call.band.bounded(), whole_mask(fast), call.scale);
  return {output.to(call.query.scalar_type()), logarithms};
}

AttentionGradients attend_backward(const AttentionCall& call, const Tensor& grad,
                                   const Tensor& output, const Tensor& logarithms, bool of_bias) {
  if (of_bias || !fits_fused_kernel(call))
    return attention_gradients(call, grad, output, logarithms, of_bias);
  const AttentionCall fast = in_fast_type(call);
  const at::ScalarType type = call.query.scalar_type();
  const auto [of_query, of_key, of_value] =
      at::_scaled_dot_product_flash_attention_for_cpu_backward(
          grad.to(fast.query.scalar_type()), fast.query, fast.key, fast.value,
          output.to(fast.query.scalar_type()), logarithms, 0.0, call.band.bounded(),
          whole_mask(fast), call.scale);
  return {of_query.to(type), of_key.to(type), of_value.to(type), Tensor()};
}

double attention_scale(const Tensor& query, std::optional<double> scale) {
  return scale.has_value() ? *scale : 1.0 / std::sqrt(static_cast<double>(query.size(-1)));
}

void check_on_one_device(const char* op,
                         std::initializer_list<std::pair<const char*, MaybeTensor>> arguments) {
  const std::string method =
      std::string("wrapper_") + c10::toString(Runtime::get().kind().dense) + "__" + op;
  std::optional<c10::Device> common;
  for (const auto& [name, tensor] : arguments)
    c10::impl::check_and_update_common_device(common, tensor, method.c_str(), name);
}

void warn_of_order(const char* kernel) {
  const at::Context& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicAlgorithmsWarnOnly()) {
    TORCH_WARN(kernel,
               " defaults to a non-deterministic algorithm. To explicitly enable determinism call "
               "torch.use_deterministic_algorithms(True, warn_only=False).");
  }
}

std::vector<std::int64_t> lengths_of(const Tensor& tensor) {
  Aliases aliases;
  const Tensor dense = aliases.of(tensor).contiguous();
  const auto* const values = dense.const_data_ptr<std::int32_t>();
  return {values, values + dense.numel()};
}

SeedScalars seed_scalars(const device::PhiloxPlace& place, const Tensor& query, bool on_device) {
  const at::TensorOptions options =
      on_device ? query.options().dtype(at::kLong) : at::TensorOptions().dtype(at::kLong);
  SeedScalars scalars{at::empty({}, options), at::empty({}, options)};
  Aliases aliases;
  *seed_numbers(aliases.of(scalars.seed)) = place.seed;
  *seed_numbers(aliases.of(scalars.offset)) = place.offset;
  return scalars;
}

device::PhiloxPlace place_of(const Tensor& seed, const Tensor& offset) {
  Aliases aliases;
  return {*seed_numbers(aliases.of(seed)), *seed_numbers(aliases.of(offset))};
}

Tensor flash_state(const device::PhiloxPlace& place, const Tensor& query) {
  const Tensor state = at::empty({2}, query.options().dtype(at::kUInt64));
  Aliases aliases;
  std::uint64_t* const numbers = seed_numbers(aliases.of(state));
  numbers[0] = place.seed;
  numbers[1] = place.offset;
  return state;
}

device::PhiloxPlace place_of_flash_state(const Tensor& state) {
  TORCH_CHECK(state.scalar_type() == at::kUInt64 && state.numel() == 2,
              "expected scalar type UInt64 but found ", state.scalar_type());
  Aliases aliases;
  const std::uint64_t* const numbers = seed_numbers(aliases.of(state));
  return {numbers[0], numbers[1]};
}

}  // namespace torchport::vdev
