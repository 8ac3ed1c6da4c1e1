// Implements what batch norm saves for its gradient on CUDA (Normalization.cu): the statistics of
// float16 and bfloat16 are computed and kept in float32, where the CPU's kernel rounds them, and
// without training they are those that the layer has, where the CPU returns tensors without
// elements. The output is like the input, also where its last dimensions are exchanged, which the
// CPU's kernel gives a memory format.
#include <cstdint>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rsqrt.h>
#include <torch/library.h>

#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/computes_as_cuda.h"
#include "runtime/virtual/operators/cudnn_types.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

bool is_half_type(const Tensor& tensor) {
  return at::isReducedFloatingType(tensor.scalar_type());
}

Tensor tensor_given(const IValue& value) {
  return value.isTensor() ? value.toTensor() : Tensor();
}

Tensor in_float(const Tensor& tensor) {
  return tensor.defined() && is_half_type(tensor) ? tensor.to(at::kFloat) : tensor;
}

// The tensor is dense, and in none of the memory formats.
bool is_in_other_order(const Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() &&
         !tensor.is_contiguous(tensor.suggest_memory_format());
}

struct BatchNormCall {
  Tensor input, weight, bias, running_mean, running_var;
  bool training;
  double momentum, eps;
};

struct BatchNormResults {
  Tensor output, mean, inverse;
};

// With running statistics of another type than the input, which CUDA reads as they are: it rounds
// the deviation, not the variance (batch_norm_cuda_out in Normalization.cu).
BatchNormResults normalized_by_other_type(const BatchNormCall& call) {
  const Tensor input = in_float(call.input);
  const Tensor mean = call.running_mean.to(input.scalar_type());
  const Tensor inverse = (in_float(call.running_var) + call.eps).rsqrt().to(input.scalar_type());
  std::vector<std::int64_t> row(static_cast<std::size_t>(input.dim()), 1);
  row[1] = input.size(1);
  Tensor output = input - mean.view(row);
  if (call.weight.defined()) output = output * call.weight.view(row);
  output = output * inverse.view(row);
  if (call.bias.defined()) output = output + call.bias.view(row);
  return {at::empty_like(call.input).copy_(output), mean, inverse};
}

BatchNormResults normalized_batch(const BatchNormCall& call) {
  if (!call.training &&
      in_float(call.running_var).scalar_type() != in_float(call.input).scalar_type())
    return normalized_by_other_type(call);
  // Copies of half types; others are the layer's own, and are written.
  const Tensor mean_of_layer = in_float(call.running_mean);
  const Tensor variance_of_layer = in_float(call.running_var);
  // With parameters in float32 the CPU's kernel reads half types and computes in float32. Without
  // any, the statistics would have the type of the input.
  const Tensor weight =
      call.weight.defined() || !is_half_type(call.input)
          ? in_float(call.weight)
          : at::ones({call.input.size(1)}, call.input.options().dtype(at::kFloat));
  auto [output, mean, inverse] =
      at::native_batch_norm(call.input, weight, in_float(call.bias), mean_of_layer,
                            variance_of_layer, call.training, call.momentum, call.eps);
  if (!call.training) {
    mean = mean_of_layer.clone();
    inverse = (variance_of_layer + call.eps).rsqrt();
  } else if (call.running_mean.defined()) {
    if (is_half_type(call.running_mean)) call.running_mean.copy_(mean_of_layer);
    if (is_half_type(call.running_var)) call.running_var.copy_(variance_of_layer);
  }
  if (is_in_other_order(call.input)) output = at::empty_like(call.input).copy_(output);
  return {output, mean, inverse};
}

enum class BatchNormForm {
  kNative,      // (input, weight, bias, running_mean, running_var, training, momentum, eps)
  kNoStats,     // (input, weight, bias, training, momentum, eps)
  kWithUpdate,  // (input, weight, bias, running_mean, running_var, momentum, eps)
};

constexpr std::size_t arguments_of_form(BatchNormForm form) {
  return form == BatchNormForm::kNative ? 8 : form == BatchNormForm::kNoStats ? 6 : 7;
}

template <BatchNormForm kForm>
BatchNormCall batch_norm_call(const IValue* arguments) {
  BatchNormCall call{tensor_given(arguments[0]),
                     tensor_given(arguments[1]),
                     tensor_given(arguments[2]),
                     {},
                     {},
                     true,
                     0,
                     0};
  std::size_t at = 3;
  if constexpr (kForm != BatchNormForm::kNoStats) {
    call.running_mean = tensor_given(arguments[at++]);
    call.running_var = tensor_given(arguments[at++]);
  }
  if constexpr (kForm != BatchNormForm::kWithUpdate) call.training = arguments[at++].toBool();
  call.momentum = arguments[at++].toDouble();
  call.eps = arguments[at].toDouble();
  return call;
}

template <BatchNormForm kForm>
void batch_norm_forward(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, arguments_of_form(kForm));
  const BatchNormResults results = normalized_batch(batch_norm_call<kForm>(arguments.data()));
  for (const Tensor& result : {results.output, results.mean, results.inverse})
    stack->emplace_back(result);
  // What cuDNN reserves.
  if constexpr (kForm == BatchNormForm::kWithUpdate)
    stack->emplace_back(at::empty({0}, results.output.options().dtype(at::kByte)));
}

template <BatchNormForm kForm>
Compute choose_batch_norm(const IValue* arguments) {
  const BatchNormCall call = batch_norm_call<kForm>(arguments);
  if constexpr (kForm == BatchNormForm::kWithUpdate) {  // cuDNN computes it
    if (call.input.dim() > 2 && call.weight.defined() && call.bias.defined())
      check_described(call.input.scalar_type());
  }
  const bool has_own = call.running_mean.defined() && call.running_var.defined();
  const bool is_other = call.training ? is_half_type(call.input) : has_own;
  return (is_other || is_in_other_order(call.input)) && at::isFloatingType(call.input.scalar_type())
             ? &batch_norm_forward<kForm>
             : nullptr;
}

void put_batch_norm_statistics(torch::Library& aten) {
  if (!computes_as_cuda()) return;
  put_choice(aten, "native_batch_norm", "", &choose_batch_norm<BatchNormForm::kNative>);
  put_choice(aten, "_native_batch_norm_legit", "", &choose_batch_norm<BatchNormForm::kNative>);
  put_choice(aten, "_native_batch_norm_legit", "no_stats",
             &choose_batch_norm<BatchNormForm::kNoStats>);
  put_choice(aten, "_batch_norm_with_update", "", &choose_batch_norm<BatchNormForm::kWithUpdate>);
}

const OperatorGroup kBatchNormStatistics(&put_batch_norm_statistics);

}  // namespace

}  // namespace torchport::vdev
