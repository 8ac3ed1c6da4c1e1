// Implements cuDNN's own operators, which programs call by name and torch.jit puts into frozen
// graphs. aten/src/ATen/native/cudnn says what each computes; other operators compute all of it,
// too.
#include <algorithm>
#include <tuple>
#include <vector>

#include <ATen/TensorUtils.h>
#include <ATen/ops/affine_grid_generator.h>
#include <ATen/ops/affine_grid_generator_backward.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/grid_sampler_2d_backward.h>
#include <ATen/ops/relu.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/library.h>

#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::IntArrayRef;
using at::Tensor;

// --- Convolutions

// As check_args in aten/src/ATen/native/ConvUtils.h.
void check_count(at::CheckedFrom from, IntArrayRef values, std::int64_t count, const char* name) {
  const auto given = static_cast<std::int64_t>(values.size());
  TORCH_CHECK(given == count, given > count ? "Too many " : "Not enough ", name, " values (", given,
              ") supplied, expecting ", count, " (while checking arguments for ", from, ")");
  TORCH_CHECK(std::all_of(values.begin(), values.end(), [](auto value) { return value >= 0; }),
              name, " should be greater than zero but got (",
              fmt::format("{}", fmt::join(values, ", ")), ") (while checking arguments for ", from,
              ")");
}

// What each of them checks (cudnn/ConvShared.cpp).
void check_convolved(at::CheckedFrom from, const Tensor& self, const Tensor& weight,
                     IntArrayRef padding, IntArrayRef stride, IntArrayRef dilation) {
  const at::TensorArg input{self, "input", 1};
  const at::TensorArg kernel{weight, "weight", 2};
  at::checkAllSameType(from, {input, kernel});
  at::checkAllSameGPU(from, {input, kernel});
  check_count(from, padding, self.dim() - 2, "padding");
  check_count(from, stride, self.dim() - 2, "stride");
  check_count(from, dilation, self.dim() - 2, "dilation");
}

Tensor convolution(const Tensor& self, const Tensor& weight, const MaybeTensor& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                   std::int64_t groups) {
  const std::vector<std::int64_t> none(stride.size(), 0);
  return at::convolution(self, weight, bias, stride, padding, dilation, false, none, groups);
}

Tensor cudnn_convolution(const Tensor& self, const Tensor& weight, IntArrayRef padding,
                         IntArrayRef stride, IntArrayRef dilation, std::int64_t groups, bool, bool,
                         bool) {
  check_convolved("cudnn_convolution", self, weight, padding, stride, dilation);
  return convolution(self, weight, {}, stride, padding, dilation, groups);
}

Tensor& cudnn_convolution_out(const Tensor& self, const Tensor& weight, IntArrayRef padding,
                              IntArrayRef stride, IntArrayRef dilation, std::int64_t groups, bool,
                              bool, bool, Tensor& out) {
  check_convolved("cudnn_convolution", self, weight, padding, stride, dilation);
  const Tensor result = convolution(self, weight, {}, stride, padding, dilation, groups);
  return out.resize_(result.sizes()).copy_(result);
}

Tensor cudnn_convolution_transpose(const Tensor& self, const Tensor& weight, IntArrayRef padding,
                                   IntArrayRef output_padding, IntArrayRef stride,
                                   IntArrayRef dilation, std::int64_t groups, bool, bool, bool) {
  check_convolved("cudnn_convolution_transpose", self, weight, padding, stride, dilation);
  return at::convolution(self, weight, {}, stride, padding, dilation, true, output_padding, groups);
}

Tensor cudnn_convolution_relu(const Tensor& self, const Tensor& weight, const MaybeTensor& bias,
                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                              std::int64_t groups) {
  return at::relu(convolution(self, weight, bias, stride, padding, dilation, groups));
}

Tensor cudnn_convolution_add_relu(const Tensor& self, const Tensor& weight, const Tensor& z,
                                  const std::optional<at::Scalar>& alpha, const MaybeTensor& bias,
                                  IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                  std::int64_t groups) {
  const Tensor result = convolution(self, weight, bias, stride, padding, dilation, groups);
  return at::relu(result.add(z, alpha.value_or(1)));
}

// --- Spatial transformers: bilinear sampling, zeros outside, aligned corners

constexpr std::int64_t kBilinear = 0;
constexpr std::int64_t kZeros = 0;

Tensor grid_sampler(const Tensor& self, const Tensor& grid) {
  return at::grid_sampler_2d(self, grid, kBilinear, kZeros, true);
}

std::tuple<Tensor, Tensor> grid_sampler_backward(const Tensor& self, const Tensor& grid,
                                                 const Tensor& grad) {
  return at::grid_sampler_2d_backward(grad, self, grid, kBilinear, kZeros, true, {true, true});
}

Tensor affine_grid(const Tensor& theta, std::int64_t n, std::int64_t c, std::int64_t h,
                   std::int64_t w) {
  return at::affine_grid_generator(theta, {n, c, h, w}, true);
}

Tensor affine_grid_backward(const Tensor& grad, std::int64_t n, std::int64_t c, std::int64_t h,
                            std::int64_t w) {
  return at::affine_grid_generator_backward(grad, {n, c, h, w}, true);
}

void put_cudnn(torch::Library& aten) {
  aten.impl("cudnn_convolution", TORCH_FN(cudnn_convolution));
  aten.impl("cudnn_convolution.out", TORCH_FN(cudnn_convolution_out));
  aten.impl("cudnn_convolution_transpose", TORCH_FN(cudnn_convolution_transpose));
  aten.impl("cudnn_convolution_relu", TORCH_FN(cudnn_convolution_relu));
  aten.impl("cudnn_convolution_add_relu", TORCH_FN(cudnn_convolution_add_relu));
  aten.impl("cudnn_grid_sampler", TORCH_FN(grid_sampler));
  aten.impl("cudnn_grid_sampler_backward", TORCH_FN(grid_sampler_backward));
  aten.impl("cudnn_affine_grid_generator", TORCH_FN(affine_grid));
  aten.impl("cudnn_affine_grid_generator_backward", TORCH_FN(affine_grid_backward));
}

const OperatorGroup kCudnn(&put_cudnn);

}  // namespace

}  // namespace torchport::vdev
