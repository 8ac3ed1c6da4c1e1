// Lays out the gradients of convolutions as cuDNN's: the one of the input and the one of the weight
// are in the memory format that PyTorch chooses for the call (cudnn_convolution_backward in
// aten/src/ATen/native/cudnn/ConvShared.cpp). The CPU's depends on its number of threads.
#include <array>
#include <memory>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/ConvUtils.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/type_rules.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using at::native::ConvBackend;

// The arguments of aten::convolution_backward.
constexpr std::size_t kInputOfGradient = 1;
constexpr std::size_t kWeightOfGradient = 2;
constexpr std::size_t kStride = 4;
constexpr std::size_t kPadding = 5;
constexpr std::size_t kDilation = 6;
constexpr std::size_t kTransposed = 7;
constexpr std::size_t kOutputPadding = 8;
constexpr std::size_t kGroups = 9;

// The memory format of the gradients; none where cuDNN does not compute them.
std::optional<at::MemoryFormat> format_of_cudnn(const c10::IValue* arguments) {
  const Tensor& input = arguments[kInputOfGradient].toTensor();
  const Tensor& weight = arguments[kWeightOfGradient].toTensor();
  // Of one dimension there are no formats.
  constexpr std::int64_t kFewest = 4;
  if (input.dim() < kFewest || !input.is_cuda()) return {};
  const auto list = [&](std::size_t i) { return arguments[i].toIntVector(); };
  const auto symbols = [](const std::vector<std::int64_t>& numbers) {
    return c10::fromIntArrayRefSlow(numbers);
  };
  const auto stride = list(kStride);
  const auto padding = list(kPadding);
  const auto dilation = list(kDilation);
  const auto output_padding = list(kOutputPadding);
  const auto dimensions = static_cast<std::size_t>(input.dim() - 2);
  for (const auto* const one : {&stride, &padding, &dilation, &output_padding})
    if (one->size() != dimensions) return {};  // which the kernel refuses or expands
  const ConvBackend backend = at::native::select_conv_backend(
      input, weight, std::nullopt, symbols(stride), symbols(padding), symbols(dilation),
      arguments[kTransposed].toBool(), symbols(output_padding), arguments[kGroups].toInt(),
      std::nullopt);
  if (backend != ConvBackend::Cudnn && backend != ConvBackend::CudnnTranspose) return {};
  return at::native::_determine_backend_memory_format(input, weight, backend);
}

class ConvolutionBackward final : public c10::OperatorKernel {
 public:
  explicit ConvolutionBackward(const c10::OperatorHandle& op)
      : usual_(op, c10::DispatchKey::CPU,
               type_rules_of(op.operator_name(), c10::DispatchKey::CPU)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    const std::size_t first = stack->size() - op.schema().arguments().size();
    const std::optional<at::MemoryFormat> format = format_of_cudnn(stack->data() + first);
    usual_(op, keys, stack);
    if (!format) return;
    c10::IValue* const results = stack->data() + stack->size() - op.schema().returns().size();
    constexpr std::array<std::size_t, 2> kLaidOut = {0, 1};
    for (const std::size_t i : kLaidOut) {
      const Tensor& result = results[i].toTensor();
      if (!result.defined()) continue;
      const Tensor wanted = at::empty(result.sizes(), result.options().device(at::kMeta), format);
      if (wanted.strides() == result.strides()) continue;
      results[i] = at::empty(result.sizes(), result.options(), format).copy_(result);
    }
  }

 private:
  AliasKernel usual_;
};

void put_convolution_backward(torch::Library& aten) {
  constexpr const char* kName = "convolution_backward";
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::convolution_backward", "");
  aten.impl(kName,
            torch::CppFunction::makeFromBoxedFunctor(std::make_unique<ConvolutionBackward>(op)));
}

const OperatorGroup kConvolutionBackward(&put_convolution_backward);

}  // namespace

}  // namespace torchport::vdev
