// The arguments of a convolution that decide which kernel of a GPU computes it and its gradients.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace torchport::vdev {

// It refers to the arguments of a call, which must outlive it.
struct ConvolutionCall {
  const at::Tensor& input;
  const at::Tensor& weight;
  const c10::IValue* steps;  // stride, padding, dilation, transposed, output_padding, groups

  [[nodiscard]] const c10::IValue& stride() const { return steps[0]; }
  [[nodiscard]] const c10::IValue& padding() const { return steps[1]; }
  [[nodiscard]] const c10::IValue& dilation() const { return steps[2]; }
  [[nodiscard]] bool is_transposed() const { return steps[3].toBool(); }
  [[nodiscard]] const c10::IValue& output_padding() const { return steps[4]; }
  [[nodiscard]] std::int64_t groups() const { return steps[5].toInt(); }

  // Each channel is convolved alone: by a kernel of PyTorch's own. REQUIRED: the input has
  // channels.
  [[nodiscard]] bool is_depthwise() const { return groups() > 1 && groups() == input.size(1); }
  // The weight has one element for each pair of channels. REQUIRED: it has two dimensions.
  [[nodiscard]] bool has_one_place() const {
    return weight.numel() == weight.size(0) * weight.size(1);
  }
  [[nodiscard]] bool is_channels_last() const {
    return input.suggest_memory_format() != at::MemoryFormat::Contiguous;
  }
};

// Of aten::_convolution(input, weight, bias, stride, ...).
[[nodiscard]] inline ConvolutionCall convolution_of(const c10::IValue* arguments) {
  return {arguments[0].toTensor(), arguments[1].toTensor(), arguments + 3};
}

// Of aten::convolution_backward(grad_output, input, weight, bias_sizes, stride, ...).
[[nodiscard]] inline ConvolutionCall convolution_of_gradient(const c10::IValue* arguments) {
  return {arguments[1].toTensor(), arguments[2].toTensor(), arguments + 4};
}

}  // namespace torchport::vdev
