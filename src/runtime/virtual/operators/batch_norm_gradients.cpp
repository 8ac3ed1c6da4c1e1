// Implements the gradients of batch norm in float16 and bfloat16 as CUDA computes them
// (Normalization.cu): each product of a gradient is rounded before it is added up, and what the
// lanes of a warp exchange, so that the gradient of a weight has the noise of the type. In the
// memory format channels_last, without places, and in cuDNN the sums are of float32: the CPU's
// kernel fits.
#include "runtime/device/batch_norm_gradients.h"

#include <array>
#include <cstdint>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rsqrt.h>
#include <torch/library.h>

#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/computes_as_cuda.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

struct NormGradientCall {
  Tensor grad, input, weight, running_mean, running_var, mean, inverse;
  bool training;
  double eps;
  std::array<bool, 3> mask;  // of the gradients of the input, the weight and the bias
};

struct NormGradients {
  Tensor input, weight, bias;
};

Tensor norm_tensor(const IValue& value) {
  return value.isTensor() ? value.toTensor() : Tensor();
}

Tensor norm_float(const Tensor& tensor) {
  return tensor.defined() ? tensor.to(at::kFloat) : tensor;
}

// native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean,
// save_invstd, train, eps, output_mask), and batch_norm_backward with one argument more.
NormGradientCall norm_gradient_call(const IValue* arguments) {
  const auto mask = arguments[9].toBoolList();
  return {arguments[0].toTensor(),    arguments[1].toTensor(),   norm_tensor(arguments[2]),
          norm_tensor(arguments[3]),  norm_tensor(arguments[4]), norm_tensor(arguments[5]),
          norm_tensor(arguments[6]),  arguments[7].toBool(),     arguments[8].toDouble(),
          {mask[0], mask[1], mask[2]}};
}

// batch_norm_use_channels_last_kernels() there; both of gradient and input take them.
bool takes_channels_last(const Tensor& tensor) {
  return tensor.is_contiguous(at::MemoryFormat::ChannelsLast) ||
         tensor.is_contiguous(at::MemoryFormat::ChannelsLast3d) ||
         (tensor.is_contiguous() && tensor.stride(1) == 1);
}

// [batch, channels, places], one after the other.
Tensor in_places(const Tensor& tensor) {
  return tensor.reshape({tensor.size(0), tensor.size(1), -1}).contiguous();
}

// With statistics and a weight in float32 the CPU's kernel reads half types and adds up in float32.
NormGradients gradients_in_float(const NormGradientCall& call) {
  const Tensor weight = call.weight.defined() ? norm_float(call.weight)
                                              : at::ones({call.input.size(1)},
                                                         call.input.options().dtype(at::kFloat));
  auto [of_input, of_weight, of_bias] = at::native_batch_norm_backward(
      call.grad, call.input, weight, norm_float(call.running_mean), norm_float(call.running_var),
      norm_float(call.mean), norm_float(call.inverse), call.training, call.eps, call.mask);
  return {of_input, of_weight, of_bias};
}

NormGradients gradients_as_warps(const NormGradientCall& call) {
  const Tensor grad = in_places(call.grad);
  const Tensor input = in_places(call.input);
  const std::int64_t channels = input.size(1);
  const std::int64_t places = input.size(2);
  const auto type =
      input.scalar_type() == at::kHalf ? device::HalfType::kFloat16 : device::HalfType::kBFloat16;
  const Tensor mean = norm_float(call.training ? call.mean : call.running_mean).contiguous();
  const Tensor inverse =
      (call.training ? norm_float(call.inverse) : (norm_float(call.running_var) + call.eps).rsqrt())
          .contiguous();
  const Tensor weight = call.weight.defined() ? norm_float(call.weight).contiguous() : Tensor();
  const Tensor of_input = call.mask[0] ? at::empty_like(input) : Tensor();
  const Tensor of_weight = at::empty({channels}, mean.options());
  const Tensor of_bias = at::empty({channels}, mean.options());
  const auto* const grads = static_cast<const std::uint16_t*>(grad.const_data_ptr());
  const auto* const inputs = static_cast<const std::uint16_t*>(input.const_data_ptr());
  auto* const out = call.mask[0] ? static_cast<std::uint16_t*>(of_input.data_ptr()) : nullptr;
  const float one_of = 1.0F / static_cast<float>(input.size(0) * places);
  at::parallel_for(0, channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const device::HalfChannel channel{grads + c * places, inputs + c * places,
                                        input.size(0),      places,
                                        channels * places,  mean.const_data_ptr<float>()[c]};
      const float inverse_of = inverse.const_data_ptr<float>()[c];
      const device::BatchNormSums sums = device::sums_of_block(type, channel);
      of_weight.data_ptr<float>()[c] = sums.product * inverse_of;
      of_bias.data_ptr<float>()[c] = sums.grad;
      if (out == nullptr) continue;
      device::InputGradient gradient;
      gradient.scale =
          weight.defined() ? inverse_of * weight.const_data_ptr<float>()[c] : inverse_of;
      if (call.training) {
        gradient.mean_grad = sums.grad * one_of;
        gradient.slope = sums.product * one_of * inverse_of * inverse_of;
      }
      device::gradient_of_channel(type, channel, gradient, out + c * places);
    }
  });
  return {of_input, of_weight, of_bias};
}

// Whether it is cuDNN's, which has float32 sums: float16 between parameters of float32 (autocast;
// _select_batch_norm_backend in Normalization.cpp).
bool is_of_cudnn(const NormGradientCall& call) {
  return call.training && call.input.scalar_type() == at::kHalf && call.input.dim() > 2 &&
         call.weight.defined() && call.weight.scalar_type() == at::kFloat &&
         at::globalContext().userEnabledCuDNN();
}

template <std::size_t kArguments>
void batch_norm_gradients(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const NormGradientCall call = norm_gradient_call(arguments.data());
  const bool is_last = takes_channels_last(call.input) && takes_channels_last(call.grad);
  NormGradients found =
      is_last || is_of_cudnn(call) ? gradients_in_float(call) : gradients_as_warps(call);
  if (call.mask[0]) {
    // The result is like the input, in any order of its dimensions.
    const Tensor like = at::empty_like(call.input);
    const Tensor shaped = found.input.reshape(call.input.sizes());
    found.input = shaped.strides() == like.strides() ? shaped : like.copy_(shaped);
  }
  const at::ScalarType type =
      call.weight.defined() ? call.weight.scalar_type() : call.input.scalar_type();
  stack->emplace_back(call.mask[0] ? found.input : Tensor());
  stack->emplace_back(call.mask[1] ? found.weight.to(type) : Tensor());
  stack->emplace_back(call.mask[2] ? found.bias.to(type) : Tensor());
}

template <Compute kCompute>
Compute choose_batch_norm_gradients(const IValue* arguments) {
  const Tensor& input = arguments[1].toTensor();
  return at::isReducedFloatingType(input.scalar_type()) && input.numel() > 0 ? kCompute : nullptr;
}

void put_batch_norm_gradients(torch::Library& aten) {
  if (!computes_as_cuda()) return;
  put_choice(aten, "native_batch_norm_backward", "",
             &choose_batch_norm_gradients<&batch_norm_gradients<10>>);
  put_choice(aten, "batch_norm_backward", "",
             &choose_batch_norm_gradients<&batch_norm_gradients<11>>);
}

const OperatorGroup kBatchNormGradients(&put_batch_norm_gradients);

}  // namespace

}  // namespace torchport::vdev
