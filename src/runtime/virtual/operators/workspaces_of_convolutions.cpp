#include "runtime/virtual/operators/workspaces_of_convolutions.h"

#include <algorithm>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/tf32.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using ConvolutionBlocks = c10::SmallVector<std::int64_t, 2>;

constexpr int kVolta = 7;
constexpr int kAmpereTf32 = 8;

// Whether devices of this profile multiply this type in tensor cores now.
bool have_tensor_cores(at::ScalarType type) {
  const auto* profile = Runtime::get().spec().profile;
  if (profile == nullptr || !at::globalContext().userEnabledCuDNN()) return false;
  if (type == at::kHalf) return profile->major >= kVolta;
  if (type == at::kBFloat16) return profile->major >= kAmpereTf32;
  return type == at::kFloat && profile->major >= kAmpereTf32 && convolutions_may_use_tf32();
}

struct Shapes {
  const Tensor& input;
  const Tensor& weight;
  std::int64_t groups;
  bool strided;
};

bool is_strided_by_more(const IValue& stride) {
  const auto steps = stride.toDimVector();
  return std::any_of(steps.begin(), steps.end(), [](std::int64_t step) { return step != 1; });
}

bool is_copied(const Shapes& call) {
  constexpr std::int64_t kLeastOfHalves = 16;
  constexpr std::int64_t kLeastOfFloats = 32;
  const at::ScalarType type = call.input.scalar_type();
  if (call.input.dim() < 3 || call.weight.dim() != call.input.dim()) return false;
  if (call.weight.scalar_type() != type || !have_tensor_cores(type)) return false;
  if (call.input.suggest_memory_format() != at::MemoryFormat::Contiguous) return false;
  const std::int64_t channels = call.input.size(1);
  if (channels < (type == at::kFloat ? kLeastOfFloats : kLeastOfHalves)) return false;
  if (call.groups > 1 && call.groups == channels) return false;  // a kernel of PyTorch's own
  const bool has_one_place = call.weight.numel() == call.weight.size(0) * call.weight.size(1);
  return !has_one_place || call.strided;  // else a product of matrices
}

// Of both batch and channels, `channels` of them, and each place of the output.
std::int64_t output_elements(const IValue* arguments) {
  const Tensor& input = arguments[0].toTensor();
  const Tensor& weight = arguments[1].toTensor();
  const auto stride = arguments[3].toDimVector(), padding = arguments[4].toDimVector(),
             dilation = arguments[5].toDimVector(), more = arguments[7].toDimVector();
  const bool transposed = arguments[6].toBool();
  std::int64_t count =
      input.size(0) * (transposed ? weight.size(1) * arguments[8].toInt() : weight.size(0));
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

ConvolutionBlocks block_for(const Shapes& call, std::int64_t output) {
  const std::int64_t elements = call.input.numel() + call.weight.numel() + output;
  return {elements * static_cast<std::int64_t>(call.input.element_size())};
}

}  // namespace

ConvolutionBlocks bytes_of_convolution(const IValue* arguments) {
  const Shapes call{arguments[0].toTensor(), arguments[1].toTensor(), arguments[8].toInt(),
                    is_strided_by_more(arguments[3])};
  if (!is_copied(call)) return {};
  return block_for(call, output_elements(arguments));
}

ConvolutionBlocks bytes_of_convolution_gradient(const IValue* arguments) {
  const Shapes call{arguments[1].toTensor(), arguments[2].toTensor(), arguments[9].toInt(),
                    is_strided_by_more(arguments[4])};
  if (!is_copied(call)) return {};
  return block_for(call, arguments[0].toTensor().numel());
}

}  // namespace torchport::vdev
