// What cuDNN's convolutions take of the device while they compute.
#pragma once

#include <cstdint>

#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

namespace torchport::vdev {

// Each takes the arguments of its operator, and returns the bytes of each block. Thread safe.
//
// Tensor cores read channels that lie side by side. For other tensors cuDNN takes a block for the
// input, the weight and the output in that layout. So it was on an H100 with cuDNN 9.19
// (tests/fidelity, memory/convolutions); the partial sums of a weight's gradient, and what a
// convolution of few channels takes, are not counted.

// _convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
// ...)
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_convolution(const c10::IValue* arguments);

// convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation,
// transposed, output_padding, groups, output_mask)
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_convolution_gradient(
    const c10::IValue* arguments);

}  // namespace torchport::vdev
