#include "runtime/virtual/operators/workspaces_of_convolutions.h"

#include <algorithm>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/convolution_bounds.h"
#include "runtime/virtual/operators/convolution_call.h"
#include "runtime/virtual/operators/tf32.h"
#include "runtime/virtual/planning/convolution_record.h"
#include "runtime/virtual/planning/work_record.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using ConvolutionBlocks = c10::SmallVector<std::int64_t, 2>;

constexpr int kVolta = 7;
constexpr int kAmpereTf32 = 8;

// Whether devices of this profile multiply this type in tensor cores now.
bool have_tensor_cores(at::ScalarType type) {
  const auto* profile = Runtime::get().profile();
  if (profile == nullptr || !at::globalContext().userEnabledCuDNN()) return false;
  if (type == at::kHalf) return profile->major >= kVolta;
  if (type == at::kBFloat16) return profile->major >= kAmpereTf32;
  return type == at::kFloat && profile->major >= kAmpereTf32 && convolutions_may_use_tf32();
}

bool is_strided_by_more(const IValue& stride) {
  const auto steps = stride.toDimVector();
  return std::any_of(steps.begin(), steps.end(), [](std::int64_t step) { return step != 1; });
}

bool is_copied(const ConvolutionCall& call) {
  constexpr std::int64_t kLeastOfHalves = 16;
  constexpr std::int64_t kLeastOfFloats = 32;
  const at::ScalarType type = call.input.scalar_type();
  if (call.input.dim() < 3 || call.weight.dim() != call.input.dim()) return false;
  if (call.weight.scalar_type() != type || !have_tensor_cores(type)) return false;
  if (call.is_channels_last() || call.is_depthwise()) return false;
  if (call.input.size(1) < (type == at::kFloat ? kLeastOfFloats : kLeastOfHalves)) return false;
  return !call.has_one_place() || is_strided_by_more(call.stride());  // else a product of matrices
}

std::int64_t output_elements(const ConvolutionCall& call) {
  const Tensor &input = call.input, &weight = call.weight;
  const auto stride = call.stride().toDimVector(), padding = call.padding().toDimVector(),
             dilation = call.dilation().toDimVector(), more = call.output_padding().toDimVector();
  const bool transposed = call.is_transposed();
  std::int64_t count =
      input.size(0) * (transposed ? weight.size(1) * call.groups() : weight.size(0));
  const auto at_place = [](const auto& list, std::size_t i) {
    return list.empty() ? std::int64_t{0} : list[std::min(i, list.size() - 1)];
  };
  for (std::size_t i = 0; i + 2 < static_cast<std::size_t>(input.dim()); ++i) {
    const auto dim = static_cast<std::int64_t>(i) + 2;
    const std::int64_t reach = at_place(dilation, i) * (weight.size(dim) - 1);
    const std::int64_t step = std::max<std::int64_t>(at_place(stride, i), 1);
    const std::int64_t size =
        transposed ? (input.size(dim) - 1) * step - 2 * at_place(padding, i) + reach +
                         at_place(more, i) + 1
                   : (input.size(dim) + 2 * at_place(padding, i) - reach - 1) / step + 1;
    count *= std::max<std::int64_t>(size, 0);
  }
  return count;
}

ConvolutionBlocks block_for(const ConvolutionCall& call, std::int64_t output) {
  const std::int64_t elements = call.input.numel() + call.weight.numel() + output;
  return {elements * static_cast<std::int64_t>(call.input.element_size())};
}

// Convolutions of single channels are computed by kernels of PyTorch's own; those of large kernels
// had cuDNN's workspace on an H100 (ConvNeXt's of 7 x 7).
bool is_of_cudnn(const ConvolutionCall& call) {
  constexpr std::int64_t kLargestOwn = 5;
  return !call.is_depthwise() || call.weight.size(call.weight.dim() - 1) > kLargestOwn;
}

// Notes what a plan says of cuDNN.
void note(const ConvolutionCall& call, std::int64_t output, bool is_gradient, int passes) {
  const Tensor& input = call.input;
  if (!records_work() || passes == 0 || !at::globalContext().userEnabledCuDNN() ||
      input.dim() < 3 || input.numel() == 0 || call.weight.dim() != input.dim() ||
      !is_of_cudnn(call))
    return;
  const ConvolutionBounds bounds = bounds_of(call, output);
  const bool tries = at::globalContext().benchmarkCuDNN();
  record_convolution(input.device().index(), bounds.copies, tries ? bounds.tried : 0, is_gradient,
                     passes);
}

}  // namespace

ConvolutionBlocks bytes_of_convolution(const IValue* arguments) {
  const ConvolutionCall call = convolution_of(arguments);
  if (call.input.dim() < 3 || call.weight.dim() != call.input.dim()) return {};
  const std::int64_t output = output_elements(call);
  note(call, output, false, 1);
  if (!is_copied(call)) return {};
  return block_for(call, output);
}

ConvolutionBlocks bytes_of_convolution_gradient(const IValue* arguments) {
  const ConvolutionCall call = convolution_of_gradient(arguments);
  constexpr std::size_t kMask = 10;
  const auto mask = arguments[kMask].toBoolList();
  note(call, arguments[0].toTensor().numel(), true, (mask.get(0) ? 1 : 0) + (mask.get(1) ? 1 : 0));
  if (!is_copied(call)) return {};
  return block_for(call, arguments[0].toTensor().numel());
}

}  // namespace torchport::vdev
