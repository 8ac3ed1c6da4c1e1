// Lays out the results of convolutions and their gradients as cuDNN's: they are in the memory
// format that PyTorch chooses for the call (cudnn_convolution_forward and
// cudnn_convolution_backward in aten/src/ATen/native/cudnn/ConvShared.cpp). The CPU's depends on
// its number of threads, and on which of its libraries computes.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

// Where the input and the stride are among the arguments; the weight follows the input, and
// padding, dilation, transposed, output_padding and groups follow the stride. So many of the
// results are laid out.
struct Places {
  std::size_t input;
  std::size_t stride;
  std::size_t results;
};
// aten::_convolution(input, weight, bias, stride, ...)
constexpr Places kForward = {0, 3, 1};
// aten::convolution_backward(grad_output, input, weight, bias_sizes, stride, ...)
constexpr Places kBackward = {1, 4, 2};

// The memory format of the results; none where cuDNN does not compute them.
std::optional<at::MemoryFormat> format_of_cudnn(const c10::IValue* arguments,
                                                const Places& places) {
  const Tensor& input = arguments[places.input].toTensor();
  const Tensor& weight = arguments[places.input + 1].toTensor();
  // Of one dimension there are no formats.
  constexpr std::int64_t kFewest = 4;
  if (input.dim() < kFewest || !input.is_cuda()) return {};
  // Most calls: the CPU's results are contiguous as well.
  if (places.results == 1 && input.is_contiguous() && weight.is_contiguous()) return {};
  const auto list = [&](std::size_t i) { return arguments[i].toIntVector(); };
  const auto symbols = [](const std::vector<std::int64_t>& numbers) {
    return c10::fromIntArrayRefSlow(numbers);
  };
  const auto stride = list(places.stride);
  const auto padding = list(places.stride + 1);
  const auto dilation = list(places.stride + 2);
  const bool transposed = arguments[places.stride + 3].toBool();
  const auto output_padding = list(places.stride + 4);
  const std::int64_t groups = arguments[places.stride + 5].toInt();
  const auto dimensions = static_cast<std::size_t>(input.dim() - 2);
  for (const auto* const one : {&stride, &padding, &dilation, &output_padding})
    if (one->size() != dimensions) return {};  // which the kernel refuses or expands
  const ConvBackend backend = at::native::select_conv_backend(
      input, weight, std::nullopt, symbols(stride), symbols(padding), symbols(dilation), transposed,
      symbols(output_padding), groups, std::nullopt);
  if (backend != ConvBackend::Cudnn && backend != ConvBackend::CudnnTranspose) return {};
  return at::native::_determine_backend_memory_format(input, weight, backend);
}

class LaidOutConvolution final : public c10::OperatorKernel {
 public:
  LaidOutConvolution(const c10::OperatorHandle& op, const Places& places)
      : places_(places),
        usual_(op, c10::DispatchKey::CPU,
               type_rules_of(op.operator_name(), c10::DispatchKey::CPU)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    const std::size_t first = stack->size() - op.schema().arguments().size();
    const std::optional<at::MemoryFormat> format = format_of_cudnn(stack->data() + first, places_);
    usual_(op, keys, stack);
    if (!format) return;
    c10::IValue* const results = stack->data() + stack->size() - op.schema().returns().size();
    for (std::size_t i = 0; i < places_.results; ++i) {
      const Tensor& result = results[i].toTensor();
      if (!result.defined()) continue;
      const Tensor wanted = at::empty(result.sizes(), result.options().device(at::kMeta), format);
      if (wanted.strides() == result.strides()) continue;
      results[i] = at::empty(result.sizes(), result.options(), format).copy_(result);
    }
  }

 private:
  Places places_;
  AliasKernel usual_;
};

void put_convolutions(torch::Library& aten) {
  const auto put = [&](const char* name, const Places& places) {
    const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow((std::string("aten::") + name).c_str(), "");
    aten.impl(name, torch::CppFunction::makeFromBoxedFunctor(
                        std::make_unique<LaidOutConvolution>(op, places)));
  };
  put("_convolution", kForward);
  put("convolution_backward", kBackward);
}

const OperatorGroup kConvolutions(&put_convolutions);

}  // namespace

}  // namespace torchport::vdev
