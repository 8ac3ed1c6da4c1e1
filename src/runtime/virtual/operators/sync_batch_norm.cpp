// Implements the parts of batch normalisation from which SyncBatchNorm is composed over many
// devices, and which only CUDA has. The formulas are those of torch/nn/modules/_functions.py and
// aten/src/ATen/native/cuda/Normalization.cuh. Channels are dimension 1; statistics have the
// accumulation type (float32 for half types).
#include <tuple>
#include <vector>

#include <ATen/AccumulateType.h>
#include <ATen/TensorOperators.h>
#include <torch/library.h>

#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

at::ScalarType statistics_type(const Tensor& input) {
  return at::toAccumulateType(input.scalar_type(), /*is_cuda=*/true);
}

std::vector<std::int64_t> all_but_channels(const Tensor& input) {
  std::vector<std::int64_t> result{0};
  for (std::int64_t i = 2; i < input.dim(); ++i) result.push_back(i);
  return result;
}

// Reshapes one value per channel so that it broadcasts over the input.
Tensor per_channel(const Tensor& value, const Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = value.numel();
  return value.view(shape);
}

std::tuple<Tensor, Tensor> stats(const Tensor& input, double epsilon) {
  const Tensor wide = input.to(statistics_type(input));
  const auto dims = all_but_channels(input);
  return {wide.mean(dims), (wide.var(dims, /*unbiased=*/false) + epsilon).rsqrt()};
}

Tensor elemt(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
             const Tensor& mean, const Tensor& invstd, double) {
  Tensor result =
      (input.to(mean.scalar_type()) - per_channel(mean, input)) * per_channel(invstd, input);
  if (has(weight)) result = result * per_channel(*weight, input);
  if (has(bias)) result = result + per_channel(*bias, input);
  return result.to(input.scalar_type());
}

Tensor& elemt_out(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                  const Tensor& mean, const Tensor& invstd, double epsilon, Tensor& out) {
  out.resize_(input.sizes());
  return out.copy_(elemt(input, weight, bias, mean, invstd, epsilon));
}

// Each device has one row of mean, invstd and counts.
std::tuple<Tensor, Tensor> gather_with_counts(const Tensor&, const Tensor& mean,
                                              const Tensor& invstd, const MaybeTensor& running_mean,
                                              const MaybeTensor& running_var, double momentum,
                                              double epsilon, const Tensor& counts) {
  const Tensor weights = counts.to(mean.scalar_type()).view({-1, 1});
  const Tensor total = weights.sum();
  const Tensor all_mean = (mean * weights).sum(0) / total;
  const Tensor var = invstd.pow(-2) - epsilon;
  const Tensor deviations = (var + (mean - all_mean).pow(2)) * weights;
  const Tensor squares = deviations.sum(0);
  if (has(running_mean)) running_mean->mul_(1 - momentum).add_(all_mean, momentum);
  if (has(running_var)) running_var->mul_(1 - momentum).add_(squares / (total - 1), momentum);
  return {all_mean, (squares / total + epsilon).rsqrt()};
}

std::tuple<Tensor, Tensor> gather_stats(const Tensor& input, const Tensor& mean,
                                        const Tensor& invstd, const MaybeTensor& running_mean,
                                        const MaybeTensor& running_var, double momentum,
                                        double epsilon, std::int64_t count) {
  const Tensor counts = mean.new_full({mean.size(0)}, count);
  return gather_with_counts(input, mean, invstd, running_mean, running_var, momentum, epsilon,
                            counts);
}

// (sum_dy, sum_dy_xmu, grad_weight, grad_bias)
std::tuple<Tensor, Tensor, Tensor, Tensor> backward_reduce(const Tensor& grad, const Tensor& input,
                                                           const Tensor& mean, const Tensor& invstd,
                                                           const MaybeTensor& weight, bool input_g,
                                                           bool weight_g, bool bias_g) {
  const auto dims = all_but_channels(input);
  const Tensor wide = grad.to(mean.scalar_type());
  const Tensor sum_dy = wide.sum(dims);
  const Tensor sum_dy_xmu =
      (wide * (input.to(mean.scalar_type()) - per_channel(mean, input))).sum(dims);
  const at::ScalarType type = has(weight) ? weight->scalar_type() : input.scalar_type();
  return {input_g ? sum_dy : Tensor(), input_g ? sum_dy_xmu : Tensor(),
          weight_g ? (sum_dy_xmu * invstd).to(type) : Tensor(),
          bias_g ? sum_dy.to(type) : Tensor()};
}

Tensor backward_elemt(const Tensor& grad, const Tensor& input, const Tensor& mean,
                      const Tensor& invstd, const MaybeTensor& weight, const Tensor& sum_dy,
                      const Tensor& sum_dy_xmu, const Tensor& count) {
  const Tensor total = count.to(mean.scalar_type()).sum();
  const Tensor centred = input.to(mean.scalar_type()) - per_channel(mean, input);
  const Tensor slope = per_channel(sum_dy_xmu / total * invstd * invstd, input);
  Tensor result =
      (grad.to(mean.scalar_type()) - per_channel(sum_dy / total, input) - centred * slope) *
      per_channel(invstd, input);
  if (has(weight)) result = result * per_channel(*weight, input);
  return result.to(input.scalar_type());
}

void put_sync_batch_norm(torch::Library& aten) {
  aten.impl("batch_norm_stats", TORCH_FN(stats));
  aten.impl("batch_norm_elemt", TORCH_FN(elemt));
  aten.impl("batch_norm_elemt.out", TORCH_FN(elemt_out));
  aten.impl("batch_norm_gather_stats", TORCH_FN(gather_stats));
  aten.impl("batch_norm_gather_stats_with_counts", TORCH_FN(gather_with_counts));
  aten.impl("batch_norm_backward_reduce", TORCH_FN(backward_reduce));
  aten.impl("batch_norm_backward_elemt", TORCH_FN(backward_elemt));
}

const OperatorGroup kSyncBatchNorm(&put_sync_batch_norm);

}  // namespace

}  // namespace torchport::vdev
