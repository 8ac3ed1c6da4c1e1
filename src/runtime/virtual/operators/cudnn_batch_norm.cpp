// Implements cuDNN's batch normalisation: aten/src/ATen/native/cudnn/BatchNorm.cpp says what it
// checks and returns. The numbers are those of the CPU. The saved variance is the inverse
// deviation. No recorded call on a real device kept memory besides its results.
#include <tuple>

#include <ATen/TensorUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <torch/library.h>

#include "runtime/virtual/operators/attention_call.h"
#include "runtime/virtual/operators/cudnn_types.h"
#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using at::TensorArg;

// What both directions check. `channels` are the tensors with an element for each channel.
void check_norm(at::CheckedFrom from, const TensorArg& input, at::ArrayRef<TensorArg> channels) {
  constexpr std::int64_t kFewest = 2;
  constexpr std::int64_t kTooMany = 6;
  at::checkAllContiguous(from, channels);
  TORCH_CHECK(input->is_contiguous(input->suggest_memory_format()));
  at::checkDimRange(from, input, kFewest, kTooMany);
  for (const TensorArg& channel : channels)
    if (channel->defined()) at::checkNumel(from, channel, input->size(1));
}

void check_types(at::CheckedFrom from, const TensorArg& input, const TensorArg& weight) {
  if (input->scalar_type() == at::kHalf)
    at::checkScalarType(from, weight, at::kFloat);
  else
    at::checkAllSameType(from, {input, weight});
}

std::tuple<Tensor, Tensor, Tensor, Tensor> norm_forward(const Tensor& input, const Tensor& weight,
                                                        const MaybeTensor& maybe_bias,
                                                        const MaybeTensor& maybe_mean,
                                                        const MaybeTensor& maybe_variance,
                                                        bool training, double momentum,
                                                        double epsilon) {
  constexpr at::CheckedFrom kFrom = "cudnn_batch_norm";
  check_on_one_device(kFrom, {{"input", input},
                              {"weight", weight},
                              {"bias", maybe_bias},
                              {"running_mean", maybe_mean},
                              {"running_var", maybe_variance}});
  const Tensor none;
  const TensorArg given{input, "input", 1};
  const TensorArg scale{weight, "weight", 2};
  const TensorArg bias{has(maybe_bias) ? *maybe_bias : none, "bias", 3};
  const TensorArg mean{has(maybe_mean) ? *maybe_mean : none, "running_mean", 4};
  const TensorArg variance{has(maybe_variance) ? *maybe_variance : none, "running_var", 5};
  at::checkAllDefined(kFrom, {given, scale, bias});
  if (!training) at::checkAllDefined(kFrom, {mean, variance});
  check_types(kFrom, given, scale);
  at::checkAllSameType(kFrom, {scale, bias, mean, variance});
  check_norm(kFrom, given, {scale, bias, mean, variance});
  check_described(input.scalar_type());
  auto [output, saved_mean, inverse] = at::native_batch_norm(
      input, weight, maybe_bias, maybe_mean, maybe_variance, training, momentum, epsilon);
  Tensor reserve = at::empty({0}, input.options().dtype(at::kByte));
  if (training) return {output, saved_mean, inverse, reserve};
  return {output, at::empty({0}, weight.options()), at::empty({0}, weight.options()), reserve};
}

std::tuple<Tensor, Tensor, Tensor> norm_backward(const Tensor& input, const Tensor& gradient,
                                                 const Tensor& weight, const MaybeTensor& mean,
                                                 const MaybeTensor& variance,
                                                 const MaybeTensor& maybe_saved_mean,
                                                 const MaybeTensor& maybe_inverse, double epsilon,
                                                 const Tensor&) {
  constexpr at::CheckedFrom kFrom = "cudnn_batch_norm_backward";
  const Tensor none;
  const Tensor ordered = gradient.contiguous(input.suggest_memory_format());
  const TensorArg given{input, "input", 1};
  const TensorArg from{ordered, "grad_output", 2};
  const TensorArg scale{weight, "weight", 3};
  const TensorArg saved_mean{has(maybe_saved_mean) ? *maybe_saved_mean : none, "save_mean", 4};
  const TensorArg inverse{has(maybe_inverse) ? *maybe_inverse : none, "save_var", 5};
  at::checkAllDefined(kFrom, {given, from, scale, saved_mean, inverse});
  at::checkAllSameGPU(kFrom, {given, from, scale, saved_mean, inverse});
  check_types(kFrom, given, scale);
  at::checkAllSameType(kFrom, {given, from});
  at::checkAllSameType(kFrom, {scale, saved_mean, inverse});
  check_norm(kFrom, given, {saved_mean, inverse});
  at::checkSameSize(kFrom, given, from);
  at::checkNumel(kFrom, scale, input.size(1));
  return at::native_batch_norm_backward(ordered, input, weight, mean, variance, maybe_saved_mean,
                                        maybe_inverse, true, epsilon, {true, true, true});
}

void put_cudnn_batch_norm(torch::Library& aten) {
  aten.impl("cudnn_batch_norm", TORCH_FN(norm_forward));
  aten.impl("cudnn_batch_norm_backward", TORCH_FN(norm_backward));
}

const OperatorGroup kCudnnBatchNorm(&put_cudnn_batch_norm);

}  // namespace

}  // namespace torchport::vdev
