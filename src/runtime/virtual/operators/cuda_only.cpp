// Implements operators that only CUDA has, with operators that the CPU has, too.
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// --- ctc_loss, which never uses MIOpen

bool no_miopen_ctc(const Tensor&, const Tensor&, at::IntArrayRef, at::IntArrayRef, std::int64_t) {
  return false;
}
bool no_miopen_ctc_tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                          std::int64_t) {
  return false;
}

// --- Depthwise convolutions, which have as many groups as channels

Tensor depthwise(const Tensor& self, const Tensor& weight, at::IntArrayRef, const MaybeTensor& bias,
                 at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation) {
  const std::vector<std::int64_t> no_padding(stride.size(), 0);
  return at::convolution(self, weight, bias, stride, padding, dilation, false, no_padding,
                         self.size(1));
}

Tensor& depthwise_out(const Tensor& self, const Tensor& weight, at::IntArrayRef size,
                      const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                      at::IntArrayRef dilation, Tensor& out) {
  const Tensor result = depthwise(self, weight, size, bias, stride, padding, dilation);
  return out.resize_(result.sizes()).copy_(result);
}

// --- Products in a wider dtype than that of their factors

void check_wide(const Tensor& self, at::ScalarType type) {
  TORCH_CHECK(type == self.scalar_type() ||
                  (type == at::kFloat &&
                   (self.scalar_type() == at::kHalf || self.scalar_type() == at::kBFloat16)),
              "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
}

Tensor mm_wide(const Tensor& self, const Tensor& other, at::ScalarType type) {
  check_wide(self, type);
  return at::mm(self.to(type), other.to(type));
}
Tensor& mm_wide_out(const Tensor& self, const Tensor& other, at::ScalarType type, Tensor& out) {
  check_wide(self, type);
  return at::mm_out(out, self.to(type), other.to(type));
}
Tensor bmm_wide(const Tensor& self, const Tensor& other, at::ScalarType type) {
  check_wide(self, type);
  return at::bmm(self.to(type), other.to(type));
}
Tensor& bmm_wide_out(const Tensor& self, const Tensor& other, at::ScalarType type, Tensor& out) {
  check_wide(self, type);
  return at::bmm_out(out, self.to(type), other.to(type));
}
Tensor addmm_wide(const Tensor& self, const Tensor& a, const Tensor& b, at::ScalarType type,
                  const at::Scalar& beta, const at::Scalar& alpha) {
  check_wide(a, type);
  return at::addmm(self.to(type), a.to(type), b.to(type), beta, alpha);
}
Tensor& addmm_wide_out(const Tensor& self, const Tensor& a, const Tensor& b, at::ScalarType type,
                       const at::Scalar& beta, const at::Scalar& alpha, Tensor& out) {
  check_wide(a, type);
  return at::addmm_out(out, self.to(type), a.to(type), b.to(type), beta, alpha);
}
Tensor baddbmm_wide(const Tensor& self, const Tensor& a, const Tensor& b, at::ScalarType type,
                    const at::Scalar& beta, const at::Scalar& alpha) {
  check_wide(a, type);
  return at::baddbmm(self.to(type), a.to(type), b.to(type), beta, alpha);
}
Tensor& baddbmm_wide_out(const Tensor& self, const Tensor& a, const Tensor& b, at::ScalarType type,
                         const at::Scalar& beta, const at::Scalar& alpha, Tensor& out) {
  check_wide(a, type);
  return at::baddbmm_out(out, self.to(type), a.to(type), b.to(type), beta, alpha);
}

// --- What dropout's backward pass calls

Tensor masked_scale(const Tensor& self, const Tensor& mask, double scale) {
  return self * mask.to(self.scalar_type()) * scale;
}

void put_cuda_only(torch::Library& aten) {
  aten.impl("_use_miopen_ctc_loss", TORCH_FN(no_miopen_ctc));
  aten.impl("_use_miopen_ctc_loss.Tensor", TORCH_FN(no_miopen_ctc_tensor));
  aten.impl("_conv_depthwise2d", TORCH_FN(depthwise));
  aten.impl("_conv_depthwise2d.out", TORCH_FN(depthwise_out));
  aten.impl("conv_depthwise3d", TORCH_FN(depthwise));
  aten.impl("mm.dtype", TORCH_FN(mm_wide));
  aten.impl("mm.dtype_out", TORCH_FN(mm_wide_out));
  aten.impl("bmm.dtype", TORCH_FN(bmm_wide));
  aten.impl("bmm.dtype_out", TORCH_FN(bmm_wide_out));
  aten.impl("addmm.dtype", TORCH_FN(addmm_wide));
  aten.impl("addmm.dtype_out", TORCH_FN(addmm_wide_out));
  aten.impl("baddbmm.dtype", TORCH_FN(baddbmm_wide));
  aten.impl("baddbmm.dtype_out", TORCH_FN(baddbmm_wide_out));
  aten.impl("_masked_scale", TORCH_FN(masked_scale));
}

const OperatorGroup kCudaOnly(&put_cuda_only);

}  // namespace

}  // namespace torchport::vdev
