// Convolutions, pools, normalisations, embeddings and losses: what their kernels and cuDNN refuse.
#include <algorithm>
#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "runtime/virtual/operators/type_checks.h"
#include "runtime/virtual/operators/type_refusals.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;
using at::Tensor;
using c10::IValue;

// aten::_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
// groups, benchmark, deterministic, cudnn_enabled, ...) of integers. cuDNN has types of its own for
// some of them (cudnn/Types.cpp), but no engine.
void check_convolution_types(const IValue* arguments) {
  const Tensor& input = arguments[0].toTensor();
  const ScalarType type = input.scalar_type();
  if (computes_nothing(input) || !holds("ibwf", type)) return;
  const bool three = input.dim() == 5;
  const bool transposed = arguments[6].toBool();
  const auto dilation = arguments[5].toIntVector();
  const bool dilated = std::any_of(dilation.begin(), dilation.end(), [](auto d) { return d != 1; });
  const std::int64_t groups = arguments[8].toInt();
  const bool depthwise = !transposed && groups > 1 && groups == input.size(1);
  if (depthwise && !three) refuse_type("conv_depthwise2d_forward_cuda", type);
  if (arguments[11].toBool()) {
    const bool known = type == at::kByte || type == at::kChar || type == at::kInt;
    TORCH_CHECK(!known, "GET was unable to find an engine to execute this computation");
    TORCH_CHECK(false, "getCudnnDataTypeFromScalarType() not supported for ", type);
  }
  if (transposed)
    refuse_type(three ? "slow_conv_transpose3d_out_cuda" : "slow_conv_transpose2d_out_cuda", type);
  refuse_type(three || dilated ? "slow_conv_dilated<>" : "slow_conv2d_cuda", type);
}

// The type in which CUDA's norms add up (toAccumulateType in AccumulateType.cpp).
void check_accumulated(const IValue* arguments) {
  if (!arguments[0].isTensor()) return;
  const Tensor& self = arguments[0].toTensor();
  TORCH_CHECK(computes_nothing(self) || !holds("wx", self.scalar_type()),
              "false INTERNAL ASSERT FAILED at "
              "\"/pytorch/aten/src/ATen/AccumulateType.cpp\":23, please report a bug to PyTorch. "
              "Unrecognized ScalarType: ",
              self.scalar_type());
}

// aten::nll_loss_forward(self, target, weight, reduction, ...): Loss.cu takes int64 and uint8.
void check_nll_loss(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& target = arguments[1].toTensor();
  if (target.dim() > 1 || computes_nothing(self)) return;
  const bool each = self.dim() == 2 && arguments[3].toInt() == 0;
  const std::string kernel = each              ? "nll_loss_forward_no_reduce_cuda_kernel"
                             : self.dim() == 1 ? "nll_loss_forward_reduce_cuda_kernel_1d"
                                               : "nll_loss_forward_reduce_cuda_kernel_2d";
  if (!self.is_floating_point() || holds("f", self.scalar_type()))
    refuse_type(kernel.c_str(), self.scalar_type());
  if (target.scalar_type() != at::kLong && target.scalar_type() != at::kByte)
    refuse_type((kernel + "_index").c_str(), target.scalar_type());
}

// aten::native_layer_norm(input, normalized_shape, weight, bias, eps): the kernel is that of the
// input's type.
void check_layer_norm(const IValue* arguments) {
  check_accumulated(arguments);
  check_type<0, "LayerNormKernelImpl", "f">(arguments);
  const Tensor& input = arguments[0].toTensor();
  if (computes_nothing(input) || !input.is_floating_point()) return;
  for (const std::size_t i : {2, 3}) {
    if (!arguments[i].isTensor() || !arguments[i].toTensor().defined()) continue;
    const ScalarType type = arguments[i].toTensor().scalar_type();
    TORCH_CHECK(type == input.scalar_type(), "expected scalar type ", input.scalar_type(),
                " but found ", type);
  }
}

// aten::_fused_rms_norm(input, ...): torch composes the norm of complex numbers of others.
void check_rms_norm(const IValue* arguments) {
  check_accumulated(arguments);
  check_type<0, "LayerNormKernelImpl", "ibf">(arguments);
}

// aten::log_sigmoid_forward.output(self, *, output, buffer): a TensorIterator of both.
void check_log_sigmoid_out(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& out = arguments[1].toTensor();
  TORCH_CHECK(self.scalar_type() == out.scalar_type(), "Found dtype ", out.scalar_type(),
              " but expected ", self.scalar_type());
}

// aten::native_batch_norm(input, weight, bias, running_mean, running_var, training, ...): without
// training the deviations are those of the layer (batch_norm_cuda_out in Normalization.cu).
void check_batch_norm(const IValue* arguments) {
  check_accumulated(arguments);
  if (!arguments[4].isTensor() || !arguments[5].isBool() || arguments[5].toBool()) return;
  const Tensor& variance = arguments[4].toTensor();
  if (variance.defined() && holds("ibcwf", variance.scalar_type()))
    refuse_type("batch_norm_invert_std_cuda", variance.scalar_type());
}

void check_training_batch_norm(const IValue* arguments) {
  check_batch_norm(arguments);
  check_type<0, "batch_norm_stats_cuda", "f">(arguments);
}

// aten::native_batch_norm.out(input, weight, bias, running_mean, running_var, training, momentum,
// eps, *, out, save_mean, save_invstd): statistics are of the type that sums have.
void check_batch_norm_out(const IValue* arguments) {
  check_accumulated(arguments);
  const Tensor& input = arguments[0].toTensor();
  if (!input.is_floating_point() || !arguments[5].toBool()) return;
  const ScalarType type =
      input.scalar_type() == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
  const ScalarType mean = arguments[9].toTensor().scalar_type();
  const ScalarType deviation = arguments[10].toTensor().scalar_type();
  TORCH_CHECK(mean == type, "Expected out_mean to have type ", type, " but got ", mean);
  TORCH_CHECK(deviation == type, "Expected out_invstd to have type ", type, " but got ", deviation);
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const TypeChecks& refusals_of_layers() {
  static const TypeChecks kChecks = {
      {"aten::_convolution", &check_convolution_types},
      {"aten::avg_pool2d", &check_type<0, "avg_pool2d_out_cuda_frame", "ib">},
      {"aten::avg_pool3d", &check_type<0, "avg_pool3d_out_cuda", "ib">},
      {"aten::max_pool2d_with_indices",
       &check_type<0, "max_pool2d_with_indices_out_cuda_frame", "ib">},
      {"aten::max_pool3d_with_indices", &check_type<0, "max_pool3d_with_indices_out_frame", "ib">},
      {"aten::upsample_bilinear2d", &check_type<0, "upsample_bilinear2d_out_frame", "u">},
      {"aten::upsample_bicubic2d", &check_type<0, "upsample_bicubic2d_out_frame", "u">},
      {"aten::_upsample_bilinear2d_aa", &check_type<0, "upsample_bilinear2d_out_frame", "u">},
      {"aten::_upsample_bicubic2d_aa", &check_type<0, "upsample_bilinear2d_out_frame", "u">},
      {"aten::native_dropout_backward", &check_type<0, "masked_scale", "ibwfcx">},
      {"aten::native_batch_norm", &check_training_batch_norm},
      {"aten::_native_batch_norm_legit", &check_training_batch_norm},
      {"aten::native_layer_norm", &check_layer_norm},
      {"aten::_fused_rms_norm", &check_rms_norm},
      {"aten::_embedding_bag", &check_type<0, "embedding_bag_cuda", "ibwfcx">},
      {"aten::_embedding_bag_forward_only", &check_type<0, "embedding_bag_cuda", "ibwfcx">},
      {"aten::nll_loss_forward", &check_nll_loss},
      {"aten::log_sigmoid_forward.output", &check_log_sigmoid_out},
      {"aten::native_batch_norm.out", &check_batch_norm_out},
      {"aten::_native_batch_norm_legit.out", &check_batch_norm_out},
  };
  return kChecks;
}

}  // namespace torchport::vdev
