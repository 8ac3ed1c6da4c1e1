// Sizes, strides and types of what batch and layer normalization give on CUDA, which PyTorch's
// Python finds by composing them of some thirty other operators.
//
// Sources: aten/src/ATen/native/cudnn/BatchNorm.cpp, native/cuda/Normalization.cu,
// native/cuda/layer_norm_kernel.cu. All take and give meta tensors; what CUDA checks before it
// allocates is checked by PyTorch above them.
#pragma once

#include <array>
#include <optional>
#include <tuple>

#include <ATen/core/Tensor.h>
#include <c10/core/SymIntArrayRef.h>

namespace torchport::vdev::meta {

using Optional = const std::optional<at::Tensor>&;

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_batch_norm(
    const at::Tensor& input, Optional weight, Optional bias, Optional running_mean,
    Optional running_var, bool training, double momentum, double eps);
std::tuple<at::Tensor, at::Tensor, at::Tensor> native_batch_norm_backward(
    const at::Tensor& gradient, const at::Tensor& input, Optional weight, Optional running_mean,
    Optional running_var, Optional save_mean, Optional save_invstd, bool train, double eps,
    std::array<bool, 3> wanted);
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> cudnn_batch_norm(
    const at::Tensor& input, const at::Tensor& weight, Optional bias, Optional running_mean,
    Optional running_var, bool training, double momentum, double eps);
std::tuple<at::Tensor, at::Tensor, at::Tensor> cudnn_batch_norm_backward(
    const at::Tensor& input, const at::Tensor& gradient, const at::Tensor& weight,
    Optional running_mean, Optional running_var, Optional save_mean, Optional save_var, double eps,
    const at::Tensor& reserve);
std::tuple<at::Tensor, at::Tensor, at::Tensor> native_layer_norm(const at::Tensor& input,
                                                                 c10::SymIntArrayRef shape,
                                                                 Optional weight, Optional bias,
                                                                 double eps);
std::tuple<at::Tensor, at::Tensor, at::Tensor> native_layer_norm_backward(
    const at::Tensor& gradient, const at::Tensor& input, c10::SymIntArrayRef shape,
    const at::Tensor& mean, const at::Tensor& rstd, Optional weight, Optional bias,
    std::array<bool, 3> wanted);

}  // namespace torchport::vdev::meta
