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
#include "runtime/virtual/operators/convolution_call.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/type_rules.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using at::native::ConvBackend;

// How a call is read, and so many of its results are laid out.
struct LaidOut {
  ConvolutionCall (*call)(const c10::IValue* arguments);
  std::size_t results;
};

// The memory format of the results; none where cuDNN does not compute them.
std::optional<at::MemoryFormat> format_of_cudnn(const c10::IValue* arguments,
                                                const LaidOut& laid_out) {
  const ConvolutionCall call = laid_out.call(arguments);
  const Tensor &input = call.input, &weight = call.weight;
  // Of one dimension there are no formats.
  constexpr std::int64_t kFewest = 4;
  if (input.dim() < kFewest || !input.is_cuda()) return {};
  // Most calls: the CPU's results are contiguous as well.
  if (laid_out.results == 1 && input.is_contiguous() && weight.is_contiguous()) return {};
  const auto symbols = [](const std::vector<std::int64_t>& numbers) {
    return c10::fromIntArrayRefSlow(numbers);
  };
  const auto stride = call.stride().toIntVector();
  const auto padding = call.padding().toIntVector();
  const auto dilation = call.dilation().toIntVector();
  const auto output_padding = call.output_padding().toIntVector();
  const auto dimensions = static_cast<std::size_t>(input.dim() - 2);
  for (const auto* const one : {&stride, &padding, &dilation, &output_padding})
    if (one->size() != dimensions) return {};  // which the kernel refuses or expands
  const ConvBackend backend = at::native::select_conv_backend(
      input, weight, std::nullopt, symbols(stride), symbols(padding), symbols(dilation),
      call.is_transposed(), symbols(output_padding), call.groups(), std::nullopt);
  if (backend != ConvBackend::Cudnn && backend != ConvBackend::CudnnTranspose) return {};
  return at::native::_determine_backend_memory_format(input, weight, backend);
}

class LaidOutConvolution final : public c10::OperatorKernel {
 public:
  LaidOutConvolution(const c10::OperatorHandle& op, const LaidOut& laid_out)
      : laid_out_(laid_out),
        usual_(op, c10::DispatchKey::CPU,
               type_rules_of(op.operator_name(), c10::DispatchKey::CPU)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    const std::size_t first = stack->size() - op.schema().arguments().size();
    const std::optional<at::MemoryFormat> format =
        format_of_cudnn(stack->data() + first, laid_out_);
    usual_(op, keys, stack);
    if (!format) return;
    c10::IValue* const results = stack->data() + stack->size() - op.schema().returns().size();
    for (std::size_t i = 0; i < laid_out_.results; ++i) {
      const Tensor& result = results[i].toTensor();
      if (!result.defined()) continue;
      const Tensor wanted = at::empty(result.sizes(), result.options().device(at::kMeta), format);
      if (wanted.strides() == result.strides()) continue;
      results[i] = at::empty(result.sizes(), result.options(), format).copy_(result);
    }
  }

 private:
  LaidOut laid_out_;
  AliasKernel usual_;
};

void put_convolutions(torch::Library& aten) {
  const auto put = [&](const char* name, const LaidOut& laid_out) {
    const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow((std::string("aten::") + name).c_str(), "");
    aten.impl(name, torch::CppFunction::makeFromBoxedFunctor(
                        std::make_unique<LaidOutConvolution>(op, laid_out)));
  };
  put("_convolution", {&convolution_of, 1});
  put("convolution_backward", {&convolution_of_gradient, 2});
}

const OperatorGroup kConvolutions(&put_convolutions);

}  // namespace

}  // namespace torchport::vdev
