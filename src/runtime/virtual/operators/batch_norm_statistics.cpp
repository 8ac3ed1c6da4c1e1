// Implements what batch norm saves for its gradient on CUDA (Normalization.cu): the statistics of
// float16 and bfloat16 are computed and kept in float32, where the CPU's kernel rounds them, and
// without training they are those that the layer has, where the CPU returns tensors without
// elements. The output is like the input, also where its last dimensions are exchanged, which the
// CPU's kernel gives a memory format.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/rsqrt.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
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

Tensor as_type_of(const Tensor& result, const Tensor& like) {
  return result.defined() && like.defined() ? result.to(like.scalar_type()) : result;
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
  auto [output, mean, inverse] = at::native_batch_norm(
      in_float(call.input), in_float(call.weight), in_float(call.bias), mean_of_layer,
      variance_of_layer, call.training, call.momentum, call.eps);
  if (!call.training) {
    mean = mean_of_layer.clone();
    inverse = (variance_of_layer + call.eps).rsqrt();
  } else if (call.running_mean.defined()) {
    if (is_half_type(call.running_mean)) call.running_mean.copy_(mean_of_layer);
    if (is_half_type(call.running_var)) call.running_var.copy_(variance_of_layer);
  }
  output = as_type_of(output, call.input);
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

constexpr std::int64_t kLanes = 32;   // of a warp
constexpr std::int64_t kBlock = 512;  // MAX_BLOCK_SIZE there
using Lanes = std::array<float, kLanes>;

// What lane 0 of a warp gets. A lane's number is rounded when another lane reads it: Float2 in
// Normalization.cuh is made of the type of the input.
template <class T>
float warp_sum(Lanes lanes) {
  for (std::int64_t offset = kLanes / 2; offset > 0; offset /= 2) {
    for (std::int64_t lane = 0; lane < offset; ++lane)
      lanes[lane] += static_cast<float>(static_cast<T>(lanes[lane + offset]));
  }
  return lanes[0];
}

// The sum over the batch and the places of one channel of `values` [batch, channels, places], as a
// block of threads adds it up (reduce() there): the threads, the warps, one warp of their sums.
template <class T>
float block_sum(const at::TensorAccessor<float, 3>& values, std::int64_t channel) {
  const std::int64_t places = values.size(2);
  std::int64_t wide = kLanes;
  while (wide < places && wide < kBlock) wide *= 2;
  std::array<float, kBlock> threads{};
  for (std::int64_t batch = 0; batch < values.size(0); ++batch) {
    const std::int64_t first = batch % (kBlock / wide) * wide;
    for (std::int64_t place = 0; place < places; ++place)
      threads[first + place % wide] +=
          static_cast<float>(static_cast<T>(values[batch][channel][place]));
  }
  Lanes sums{};
  for (std::int64_t warp = 0; warp < kBlock / kLanes; ++warp) {
    Lanes lanes{};
    std::copy_n(threads.begin() + warp * kLanes, kLanes, lanes.begin());
    sums[warp] = warp_sum<T>(lanes);
  }
  return warp_sum<T>(sums);
}

// The sums over all but the channels, in the shape of a row that fits beside the input. Each value
// is rounded to `type` before.
Tensor sum_of_channels(const Tensor& values, at::ScalarType type) {
  // Adding up as a warp does is slow, so that larger inputs have sums of float32.
  constexpr std::int64_t kMostElements = 1 << 16;
  if (values.numel() > kMostElements) {
    std::vector<std::int64_t> others;
    for (std::int64_t dim = 0; dim < values.dim(); ++dim) {
      if (dim != 1) others.push_back(dim);
    }
    return values.sum(others, /*keepdim=*/true);
  }
  const Tensor flat = values.reshape({values.size(0), values.size(1), -1}).contiguous();
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(values.dim()), 1);
  sizes[1] = values.size(1);
  Tensor sums = at::empty(sizes, flat.options());
  auto* const to = sums.data_ptr<float>();
  const auto from = flat.accessor<float, 3>();
  at::parallel_for(0, values.size(1), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c)
      to[c] = type == at::kHalf ? block_sum<at::Half>(from, c) : block_sum<at::BFloat16>(from, c);
  });
  return sums;
}

Tensor beside(const Tensor& statistics, const Tensor& input) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(input.dim()), 1);
  sizes[1] = input.size(1);
  return statistics.to(at::kFloat).reshape(sizes);
}

// native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean,
// save_invstd, train, eps, output_mask), and batch_norm_backward with one argument more. Each
// product of a gradient is rounded before it is added up, and what the lanes of a warp exchange, so
// that the gradient of a weight has the noise of the type.
template <std::size_t kArguments>
void batch_norm_gradients(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor input = arguments[1].toTensor();
  const Tensor weight = tensor_given(arguments[2]);
  const bool training = arguments[7].toBool();
  const auto mask = arguments[9].toBoolList();
  const Tensor grad = arguments[0].toTensor().to(at::kFloat);
  const Tensor mean = beside(arguments[training ? 5 : 3].toTensor(), input);
  const Tensor inverse =
      training ? beside(arguments[6].toTensor(), input)
               : (beside(arguments[4].toTensor(), input) + arguments[8].toDouble()).rsqrt();
  const Tensor centred = input.to(at::kFloat) - mean;
  const Tensor dot = sum_of_channels(grad * centred, input.scalar_type());
  const Tensor sum = sum_of_channels(grad, input.scalar_type());
  Tensor of_input;
  if (mask[0]) {
    of_input = grad;
    const std::int64_t of_channel = input.numel() / input.size(1);
    const auto count = static_cast<double>(of_channel);
    if (training) of_input = grad - centred * (dot / count * inverse * inverse) - sum / count;
    of_input = of_input * inverse;
    if (weight.defined()) of_input = of_input * beside(weight, input);
    of_input = at::empty_like(input).copy_(of_input);
  }
  stack->emplace_back(of_input);
  const at::ScalarType type = weight.defined() ? weight.scalar_type() : input.scalar_type();
  stack->emplace_back(mask[1] ? (dot * inverse).flatten().to(type) : Tensor());
  stack->emplace_back(mask[2] ? sum.flatten().to(type) : Tensor());
}

template <Compute kCompute>
Compute choose_batch_norm_gradients(const IValue* arguments) {
  const Tensor& input = arguments[1].toTensor();
  return is_half_type(input) && input.numel() > 0 ? kCompute : nullptr;
}

void put_batch_norm_statistics(torch::Library& aten) {
  if (!computes_as_cuda()) return;
  put_choice(aten, "native_batch_norm", "", &choose_batch_norm<BatchNormForm::kNative>);
  put_choice(aten, "_native_batch_norm_legit", "", &choose_batch_norm<BatchNormForm::kNative>);
  put_choice(aten, "_native_batch_norm_legit", "no_stats",
             &choose_batch_norm<BatchNormForm::kNoStats>);
  put_choice(aten, "_batch_norm_with_update", "", &choose_batch_norm<BatchNormForm::kWithUpdate>);
  put_choice(aten, "native_batch_norm_backward", "",
             &choose_batch_norm_gradients<&batch_norm_gradients<10>>);
  put_choice(aten, "batch_norm_backward", "",
             &choose_batch_norm_gradients<&batch_norm_gradients<11>>);
}

const OperatorGroup kBatchNormStatistics(&put_batch_norm_statistics);

}  // namespace

}  // namespace torchport::vdev
