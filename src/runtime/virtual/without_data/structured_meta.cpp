#include "runtime/virtual/without_data/structured_meta.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/ops/_log_softmax_backward_data_meta_dispatch.h>
#include <ATen/ops/_log_softmax_backward_data_ops.h>
#include <ATen/ops/_log_softmax_meta_dispatch.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax_backward_data_meta_dispatch.h>
#include <ATen/ops/_softmax_backward_data_ops.h>
#include <ATen/ops/_softmax_meta_dispatch.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/add_meta_dispatch.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/addcdiv_meta_dispatch.h>
#include <ATen/ops/addcdiv_ops.h>
#include <ATen/ops/addcmul_meta_dispatch.h>
#include <ATen/ops/addcmul_ops.h>
#include <ATen/ops/addmm_meta_dispatch.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/all_meta_dispatch.h>
#include <ATen/ops/all_ops.h>
#include <ATen/ops/amax_meta_dispatch.h>
#include <ATen/ops/amax_ops.h>
#include <ATen/ops/amin_meta_dispatch.h>
#include <ATen/ops/amin_ops.h>
#include <ATen/ops/any_meta_dispatch.h>
#include <ATen/ops/any_ops.h>
#include <ATen/ops/argmax_meta_dispatch.h>
#include <ATen/ops/argmax_ops.h>
#include <ATen/ops/avg_pool2d_backward_meta_dispatch.h>
#include <ATen/ops/avg_pool2d_backward_ops.h>
#include <ATen/ops/avg_pool2d_meta_dispatch.h>
#include <ATen/ops/avg_pool2d_ops.h>
#include <ATen/ops/baddbmm_meta_dispatch.h>
#include <ATen/ops/baddbmm_ops.h>
#include <ATen/ops/bitwise_and_meta_dispatch.h>
#include <ATen/ops/bitwise_and_ops.h>
#include <ATen/ops/bitwise_not_meta_dispatch.h>
#include <ATen/ops/bitwise_not_ops.h>
#include <ATen/ops/bitwise_or_meta_dispatch.h>
#include <ATen/ops/bitwise_or_ops.h>
#include <ATen/ops/bmm_meta_dispatch.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/cat_meta_dispatch.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/clamp_max_meta_dispatch.h>
#include <ATen/ops/clamp_max_ops.h>
#include <ATen/ops/clamp_meta_dispatch.h>
#include <ATen/ops/clamp_min_meta_dispatch.h>
#include <ATen/ops/clamp_min_ops.h>
#include <ATen/ops/clamp_ops.h>
#include <ATen/ops/cos_meta_dispatch.h>
#include <ATen/ops/cos_ops.h>
#include <ATen/ops/cudnn_batch_norm_backward_ops.h>
#include <ATen/ops/cudnn_batch_norm_ops.h>
#include <ATen/ops/cumsum_meta_dispatch.h>
#include <ATen/ops/cumsum_ops.h>
#include <ATen/ops/div_meta_dispatch.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/elu_backward_meta_dispatch.h>
#include <ATen/ops/elu_backward_ops.h>
#include <ATen/ops/elu_meta_dispatch.h>
#include <ATen/ops/elu_ops.h>
#include <ATen/ops/eq_meta_dispatch.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/erf_meta_dispatch.h>
#include <ATen/ops/erf_ops.h>
#include <ATen/ops/exp_meta_dispatch.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/floor_meta_dispatch.h>
#include <ATen/ops/floor_ops.h>
#include <ATen/ops/gather_meta_dispatch.h>
#include <ATen/ops/gather_ops.h>
#include <ATen/ops/ge_meta_dispatch.h>
#include <ATen/ops/ge_ops.h>
#include <ATen/ops/gelu_backward_meta_dispatch.h>
#include <ATen/ops/gelu_backward_ops.h>
#include <ATen/ops/gelu_meta_dispatch.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/gt_meta_dispatch.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/index_add_meta_dispatch.h>
#include <ATen/ops/index_add_ops.h>
#include <ATen/ops/le_meta_dispatch.h>
#include <ATen/ops/le_ops.h>
#include <ATen/ops/leaky_relu_backward_meta_dispatch.h>
#include <ATen/ops/leaky_relu_backward_ops.h>
#include <ATen/ops/leaky_relu_meta_dispatch.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/lerp_meta_dispatch.h>
#include <ATen/ops/lerp_ops.h>
#include <ATen/ops/linalg_vector_norm_meta_dispatch.h>
#include <ATen/ops/linalg_vector_norm_ops.h>
#include <ATen/ops/log_meta_dispatch.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/lt_meta_dispatch.h>
#include <ATen/ops/lt_ops.h>
#include <ATen/ops/max_pool2d_with_indices_backward_meta_dispatch.h>
#include <ATen/ops/max_pool2d_with_indices_backward_ops.h>
#include <ATen/ops/max_pool2d_with_indices_meta_dispatch.h>
#include <ATen/ops/max_pool2d_with_indices_ops.h>
#include <ATen/ops/maximum_meta_dispatch.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/mean_meta_dispatch.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/minimum_meta_dispatch.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/mm_meta_dispatch.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/mul_meta_dispatch.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/native_batch_norm_backward_ops.h>
#include <ATen/ops/native_batch_norm_ops.h>
#include <ATen/ops/native_layer_norm_backward_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>
#include <ATen/ops/ne_meta_dispatch.h>
#include <ATen/ops/ne_ops.h>
#include <ATen/ops/neg_meta_dispatch.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/pow_meta_dispatch.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/reciprocal_meta_dispatch.h>
#include <ATen/ops/reciprocal_ops.h>
#include <ATen/ops/rsqrt_meta_dispatch.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/scatter_add_meta_dispatch.h>
#include <ATen/ops/scatter_add_ops.h>
#include <ATen/ops/sigmoid_backward_meta_dispatch.h>
#include <ATen/ops/sigmoid_backward_ops.h>
#include <ATen/ops/sigmoid_meta_dispatch.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_backward_meta_dispatch.h>
#include <ATen/ops/silu_backward_ops.h>
#include <ATen/ops/silu_meta_dispatch.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sin_meta_dispatch.h>
#include <ATen/ops/sin_ops.h>
#include <ATen/ops/softplus_backward_meta_dispatch.h>
#include <ATen/ops/softplus_backward_ops.h>
#include <ATen/ops/softplus_meta_dispatch.h>
#include <ATen/ops/softplus_ops.h>
#include <ATen/ops/sqrt_meta_dispatch.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/sub_meta_dispatch.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/sum_meta_dispatch.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/tanh_backward_meta_dispatch.h>
#include <ATen/ops/tanh_backward_ops.h>
#include <ATen/ops/tanh_meta_dispatch.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/threshold_backward_meta_dispatch.h>
#include <ATen/ops/threshold_backward_ops.h>

#include "runtime/virtual/without_data/normalization_meta.h"

namespace torchport::vdev {

namespace {

using Row = std::pair<std::string, c10::KernelFunction>;

// An operator, and the function that finds its result's sizes. Where functions of one name differ
// in their arguments, the operator's schema says which one it is.
template <class Op, Op::schema* kFunction>
Row row() {
  std::string name = Op::name;
  if (*Op::overload_name != '\0') name.append(".").append(Op::overload_name);
  return {std::move(name), c10::KernelFunction::makeFromUnboxedFunction(
                               c10::CompileTimeFunctionPointer<typename Op::schema, kFunction>())};
}

std::vector<Row> elementwise() {
  return {
      row<at::_ops::add_Tensor, &at::meta::add>(),
      row<at::_ops::add__Tensor, &at::meta::add_>(),
      row<at::_ops::addcdiv, &at::meta::addcdiv>(),
      row<at::_ops::addcdiv_, &at::meta::addcdiv_>(),
      row<at::_ops::addcmul, &at::meta::addcmul>(),
      row<at::_ops::addcmul_, &at::meta::addcmul_>(),
      row<at::_ops::bitwise_and_Tensor, &at::meta::bitwise_and>(),
      row<at::_ops::bitwise_not, &at::meta::bitwise_not>(),
      row<at::_ops::bitwise_or_Tensor, &at::meta::bitwise_or>(),
      row<at::_ops::clamp, &at::meta::clamp>(),
      row<at::_ops::clamp_, &at::meta::clamp_>(),
      row<at::_ops::clamp_max, &at::meta::clamp_max>(),
      row<at::_ops::clamp_min, &at::meta::clamp_min>(),
      row<at::_ops::clamp_min_, &at::meta::clamp_min_>(),
      row<at::_ops::cos, &at::meta::cos>(),
      row<at::_ops::div_Tensor, &at::meta::div>(),
      row<at::_ops::div__Tensor, &at::meta::div_>(),
      row<at::_ops::elu, &at::meta::elu>(),
      row<at::_ops::elu_backward, &at::meta::elu_backward>(),
      row<at::_ops::eq_Scalar, &at::meta::eq>(),
      row<at::_ops::eq_Tensor, &at::meta::eq>(),
      row<at::_ops::erf, &at::meta::erf>(),
      row<at::_ops::exp, &at::meta::exp>(),
      row<at::_ops::exp_, &at::meta::exp_>(),
      row<at::_ops::floor, &at::meta::floor>(),
      row<at::_ops::ge_Scalar, &at::meta::ge>(),
      row<at::_ops::ge_Tensor, &at::meta::ge>(),
      row<at::_ops::gelu, &at::meta::gelu>(),
      row<at::_ops::gelu_backward, &at::meta::gelu_backward>(),
      row<at::_ops::gt_Scalar, &at::meta::gt>(),
      row<at::_ops::gt_Tensor, &at::meta::gt>(),
      row<at::_ops::le_Scalar, &at::meta::le>(),
      row<at::_ops::le_Tensor, &at::meta::le>(),
      row<at::_ops::leaky_relu, &at::meta::leaky_relu>(),
      row<at::_ops::leaky_relu_, &at::meta::leaky_relu_>(),
      row<at::_ops::leaky_relu_backward, &at::meta::leaky_relu_backward>(),
      row<at::_ops::lerp_Scalar, &at::meta::lerp>(),
      row<at::_ops::lerp_Tensor, &at::meta::lerp>(),
      row<at::_ops::lerp__Scalar, &at::meta::lerp_>(),
      row<at::_ops::lerp__Tensor, &at::meta::lerp_>(),
      row<at::_ops::log, &at::meta::log>(),
      row<at::_ops::log_, &at::meta::log_>(),
      row<at::_ops::lt_Scalar, &at::meta::lt>(),
      row<at::_ops::lt_Tensor, &at::meta::lt>(),
      row<at::_ops::maximum, &at::meta::maximum>(),
      row<at::_ops::minimum, &at::meta::minimum>(),
      row<at::_ops::mul_Tensor, &at::meta::mul>(),
      row<at::_ops::mul__Tensor, &at::meta::mul_>(),
      row<at::_ops::ne_Scalar, &at::meta::ne>(),
      row<at::_ops::ne_Tensor, &at::meta::ne>(),
      row<at::_ops::neg, &at::meta::neg>(),
      row<at::_ops::neg_, &at::meta::neg_>(),
      row<at::_ops::pow_Tensor_Scalar, &at::meta::pow>(),
      row<at::_ops::pow_Tensor_Tensor, &at::meta::pow>(),
      row<at::_ops::pow__Scalar, &at::meta::pow_>(),
      row<at::_ops::reciprocal, &at::meta::reciprocal>(),
      row<at::_ops::reciprocal_, &at::meta::reciprocal_>(),
      row<at::_ops::rsqrt, &at::meta::rsqrt>(),
      row<at::_ops::rsqrt_, &at::meta::rsqrt_>(),
      row<at::_ops::sigmoid, &at::meta::sigmoid>(),
      row<at::_ops::sigmoid_, &at::meta::sigmoid_>(),
      row<at::_ops::sigmoid_backward, &at::meta::sigmoid_backward>(),
      row<at::_ops::silu, &at::meta::silu>(),
      row<at::_ops::silu_, &at::meta::silu_>(),
      row<at::_ops::silu_backward, &at::meta::silu_backward>(),
      row<at::_ops::sin, &at::meta::sin>(),
      row<at::_ops::softplus, &at::meta::softplus>(),
      row<at::_ops::softplus_backward, &at::meta::softplus_backward>(),
      row<at::_ops::sqrt, &at::meta::sqrt>(),
      row<at::_ops::sqrt_, &at::meta::sqrt_>(),
      row<at::_ops::sub_Tensor, &at::meta::sub>(),
      row<at::_ops::sub__Tensor, &at::meta::sub_>(),
      row<at::_ops::tanh, &at::meta::tanh>(),
      row<at::_ops::tanh_, &at::meta::tanh_>(),
      row<at::_ops::tanh_backward, &at::meta::tanh_backward>(),
      row<at::_ops::threshold_backward, &at::meta::threshold_backward>(),
  };
}

std::vector<Row> others() {
  return {
      row<at::_ops::cudnn_batch_norm, &meta::cudnn_batch_norm>(),
      row<at::_ops::cudnn_batch_norm_backward, &meta::cudnn_batch_norm_backward>(),
      row<at::_ops::native_batch_norm, &meta::native_batch_norm>(),
      row<at::_ops::native_batch_norm_backward, &meta::native_batch_norm_backward>(),
      row<at::_ops::native_layer_norm, &meta::native_layer_norm>(),
      row<at::_ops::native_layer_norm_backward, &meta::native_layer_norm_backward>(),
      row<at::_ops::addmm, &at::meta::addmm>(),
      row<at::_ops::addmm_, &at::meta::addmm_>(),
      row<at::_ops::all, &at::meta::all>(),
      row<at::_ops::all_dim, &at::meta::all>(),
      row<at::_ops::amax, &at::meta::amax>(),
      row<at::_ops::amin, &at::meta::amin>(),
      row<at::_ops::any, &at::meta::any>(),
      row<at::_ops::any_dim, &at::meta::any>(),
      row<at::_ops::argmax, &at::meta::argmax>(),
      row<at::_ops::avg_pool2d, &at::meta::avg_pool2d>(),
      row<at::_ops::avg_pool2d_backward, &at::meta::avg_pool2d_backward>(),
      row<at::_ops::baddbmm, &at::meta::baddbmm>(),
      row<at::_ops::bmm, &at::meta::bmm>(),
      row<at::_ops::cat, &at::meta::cat>(),
      row<at::_ops::cumsum, &at::meta::cumsum>(),
      row<at::_ops::gather, &at::meta::gather>(),
      row<at::_ops::index_add, &at::meta::index_add>(),
      row<at::_ops::linalg_vector_norm, &at::meta::linalg_vector_norm>(),
      row<at::_ops::_log_softmax, &at::meta::_log_softmax>(),
      row<at::_ops::_log_softmax_backward_data, &at::meta::_log_softmax_backward_data>(),
      row<at::_ops::max_pool2d_with_indices, &at::meta::max_pool2d_with_indices>(),
      row<at::_ops::max_pool2d_with_indices_backward,
          &at::meta::max_pool2d_with_indices_backward>(),
      row<at::_ops::mean_dim, &at::meta::mean>(),
      row<at::_ops::mm, &at::meta::mm>(),
      row<at::_ops::scatter_add, &at::meta::scatter_add>(),
      row<at::_ops::_softmax, &at::meta::_softmax>(),
      row<at::_ops::_softmax_backward_data, &at::meta::_softmax_backward_data>(),
      row<at::_ops::sum_dim_IntList, &at::meta::sum>(),
  };
}

const std::unordered_map<std::string, c10::KernelFunction>& all_structured() {
  static const auto kAll = [] {
    std::unordered_map<std::string, c10::KernelFunction> all;
    for (auto rows : {elementwise(), others()})
      for (Row& one : rows) all.insert(std::move(one));
    return all;
  }();
  return kAll;
}

}  // namespace

const c10::KernelFunction* structured_meta_of(const c10::OperatorName& op) {
  const auto& all = all_structured();
  const auto found = all.find(c10::toString(op));
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace torchport::vdev
