// Implements the norms of rows as CUDA does (layer_norm_kernel.cu): it computes float16 and
// bfloat16 in float32 and keeps the statistics in float32, where the CPU's kernel rounds them, and
// has one kernel for rms_norm, where the CPU composes it of others. A program sees the types and
// the bytes of what is saved for the backward pass, and FusedRmsNormBackward0.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/rsqrt.h>
#include <c10/util/strides.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/computes_as_cuda.h"
#include "runtime/virtual/operators/laid_out.h"
#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

Tensor tensor_or_none(const IValue& value) {
  return value.isNone() ? Tensor() : value.toTensor();
}

// The type that CUDA computes in.
at::ScalarType wide_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

Tensor in_wide_type(const Tensor& tensor) {
  return tensor.defined() ? tensor.to(wide_type(tensor.scalar_type())) : tensor;
}

Tensor in_type_of(const Tensor& result, const Tensor& given) {
  return result.defined() && given.defined() ? result.to(given.scalar_type()) : result;
}

// --- Layer norm of half precision

// native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float
// eps)
void layer_norm(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, 5);
  const Tensor input = arguments[0].toTensor();
  const auto [output, mean, inverse] = at::native_layer_norm(
      in_wide_type(input), arguments[1].toIntVector(), in_wide_type(tensor_or_none(arguments[2])),
      in_wide_type(tensor_or_none(arguments[3])), arguments[4].toDouble());
  for (const Tensor& result : {in_type_of(output, input), mean, inverse})
    stack->emplace_back(result);
}

// native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean,
// Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask)
void layer_norm_backward(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, 8);
  const Tensor input = arguments[1].toTensor();
  const Tensor weight = tensor_or_none(arguments[5]);
  const Tensor bias = tensor_or_none(arguments[6]);
  std::array<bool, 3> mask{};
  std::ranges::copy(arguments[7].toBoolList().vec(), mask.begin());
  const auto [of_input, of_weight, of_bias] = at::native_layer_norm_backward(
      in_wide_type(arguments[0].toTensor()), in_wide_type(input), arguments[2].toIntVector(),
      in_wide_type(arguments[3].toTensor()), in_wide_type(arguments[4].toTensor()),
      in_wide_type(weight), in_wide_type(bias), mask);
  for (const Tensor& result :
       {in_type_of(of_input, input), in_type_of(of_weight, weight), in_type_of(of_bias, bias)})
    stack->emplace_back(result);
}

template <Compute kCompute, std::size_t kInput>
Compute choose_for_halves(const IValue* arguments) {
  return at::isReducedFloatingType(arguments[kInput].toTensor().scalar_type()) ? kCompute : nullptr;
}

// --- RMS norm

std::vector<std::int64_t> last_dims(const Tensor& input, std::size_t count) {
  std::vector<std::int64_t> dims(count);
  std::iota(dims.begin(), dims.end(), input.dim() - static_cast<std::int64_t>(count));
  return dims;
}

Tensor row_major(const Tensor& tensor) {
  return laid_out(tensor, c10::contiguous_strides(tensor.sizes()));
}

// _fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps): the result,
// and the inverse of each row's root of the mean square.
void rms_norm(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, 4);
  const Tensor input = arguments[0].toTensor();
  const Tensor weight = tensor_or_none(arguments[2]);
  const Tensor x = in_wide_type(input);
  const double smallest = x.scalar_type() == at::kDouble
                              ? std::numeric_limits<double>::epsilon()
                              : double{std::numeric_limits<float>::epsilon()};
  const double eps = arguments[3].toOptional<double>().value_or(smallest);
  const auto dims = last_dims(input, arguments[1].toIntVector().size());
  const Tensor inverse = (x * x).mean(dims, /*keepdim=*/true).add_(eps).rsqrt_();
  Tensor output = x * inverse;
  if (weight.defined()) output.mul_(in_wide_type(weight));
  stack->emplace_back(row_major(in_type_of(output, input)));
  stack->emplace_back(row_major(inverse));
}

// _fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd,
// Tensor? weight, bool[2] output_mask)
void rms_norm_backward(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, 6);
  const Tensor input = arguments[1].toTensor();
  const Tensor weight = tensor_or_none(arguments[4]);
  const auto mask = arguments[5].toBoolList();
  const Tensor grad = in_wide_type(arguments[0].toTensor());
  const Tensor inverse = arguments[3].toTensor();
  const Tensor normal = in_wide_type(input) * inverse;
  const std::size_t count = arguments[2].toIntVector().size();
  Tensor of_input;
  Tensor of_weight;
  if (mask[0]) {
    const Tensor scaled = weight.defined() ? grad * in_wide_type(weight) : grad;
    const Tensor along = (scaled * normal).mean(last_dims(input, count), /*keepdim=*/true);
    of_input = row_major(in_type_of((scaled - normal * along) * inverse, input));
  }
  if (mask[1] && weight.defined()) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(input.dim()) - count);
    std::iota(rows.begin(), rows.end(), 0);
    const Tensor products = grad * normal;
    of_weight = row_major(in_type_of(rows.empty() ? products : products.sum(rows), weight));
  }
  stack->emplace_back(of_input);
  stack->emplace_back(of_weight);
}

Compute choose_rms_norm(const IValue*) {
  return &rms_norm;
}

Compute choose_rms_norm_backward(const IValue*) {
  return &rms_norm_backward;
}

// Earlier releases have another operator of this name, for another device, or none.
bool has_fused_rms_norm() {
  const auto op = c10::Dispatcher::singleton().findSchema({"aten::_fused_rms_norm", ""});
  return op && op->schema().returns().size() == 2 && op->schema().arguments().size() == 4 &&
         c10::Dispatcher::singleton().findSchema({"aten::_fused_rms_norm_backward", ""});
}

void put_norms_of_rows(torch::Library& aten) {
  if (computes_as_cuda()) {
    put_choice(aten, "native_layer_norm", "", &choose_for_halves<&layer_norm, 0>);
    put_choice(aten, "native_layer_norm_backward", "", &choose_for_halves<&layer_norm_backward, 1>);
  }
  if (Runtime::get().kind_name() != "cuda" || !has_fused_rms_norm()) return;
  put_choice(aten, "_fused_rms_norm", "", &choose_rms_norm);
  put_choice(aten, "_fused_rms_norm_backward", "", &choose_rms_norm_backward);
}

const OperatorGroup kNormsOfRows(&put_norms_of_rows);

}  // namespace

}  // namespace torchport::vdev
