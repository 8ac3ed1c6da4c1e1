// TF32: GPUs of compute capability 8.0 and higher multiply float32 matrices with ten bits of their
// fractions where a program allows it: convolutions by default (torch.backends.cudnn.allow_tf32),
// other products if asked (torch.backends.cuda.matmul, torch.set_float32_matmul_precision). Virtual
// devices do so with `torchport run --tf32 on` (TORCHPORT_TF32=on).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKey.h>

namespace torchport::vdev {

// How an operator may use TF32.
enum class Tf32 : std::uint8_t {
  kNever,
  kProduct,  // a @ b, also of batches
  kSum,      // c + a @ b
  kConvolution,
  kConvolutionGradient
};

// Whether the program lets cuDNN's convolutions use TF32, which it does by default. Thread safe, as
// below.
[[nodiscard]] bool convolutions_may_use_tf32();

// That of an operator whose CPU kernel is under `cpu`. kNever if the option is off, the virtual
// devices are of another kind or older, or NVIDIA_TF32_OVERRIDE is 0. Thread safe.
[[nodiscard]] Tf32 tf32_of(const c10::OperatorName& name, c10::DispatchKey cpu);

// Whether a call with these arguments multiplies float32 numbers in TF32, by what the program
// allows now and the shapes. Thread safe, unless another thread changes the setting.
[[nodiscard]] bool uses_tf32(Tf32 use, const c10::IValue* arguments);

// A tensor of the host whose float32 numbers are rounded to TF32, in the same layout.
[[nodiscard]] at::Tensor rounded_to_tf32(const at::Tensor& values);

// Calls `kernel`, which takes its arguments from the stack, with rounded operands. What is added to
// a product (`self` of addmm, a bias) keeps its bits, and so does the gradient of a bias. Raises
// what the kernel raises.
void in_tf32(const c10::FunctionSchema& schema, torch::jit::Stack* stack,
             const std::function<void()>& kernel);

}  // namespace torchport::vdev
