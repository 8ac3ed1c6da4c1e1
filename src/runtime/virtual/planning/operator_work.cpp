#include "runtime/virtual/planning/operator_work.h"

#include <string>
#include <unordered_map>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include "runtime/virtual/core/operator_names.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;

bool products_may_use_tf32() {
  return at::globalContext().allowTF32CuBLAS();
}

double elements_in(const Tensor& tensor) {
  return static_cast<double>(tensor.numel());
}

// A product of matrices; arguments `kLeft` and `kLeft` + 1 are [..., m, k] and [..., k, n].
template <std::size_t kLeft>
Arithmetic of_product(const IValue* arguments, const IValue*) {
  const Tensor& left = arguments[kLeft].toTensor();
  const Tensor& right = arguments[kLeft + 1].toTensor();
  const double columns = right.dim() < 2 ? 1 : static_cast<double>(right.size(-1));
  return {2 * elements_in(left) * columns, left.scalar_type(), products_may_use_tf32()};
}

// Each element of the smaller side of a convolution is multiplied with the weights of one channel.
double operations_of_convolution(const Tensor& points, const Tensor& weight) {
  const double channels = static_cast<double>(weight.size(0));
  return channels == 0 ? 0 : 2 * elements_in(points) * elements_in(weight) / channels;
}

Arithmetic of_points(const Tensor& points, const Tensor& weight) {
  return {operations_of_convolution(points, weight), weight.scalar_type(),
          at::globalContext().allowTF32CuDNN()};
}

// convolution(input, weight, ...); `kTransposed`: the place of transposed, if it has one.
template <std::size_t kTransposed>
Arithmetic of_convolution(const IValue* arguments, const IValue* results) {
  const bool transposed = kTransposed != 0 && arguments[kTransposed].toBool();
  return of_points((transposed ? arguments[0] : results[0]).toTensor(), arguments[1].toTensor());
}

Arithmetic of_points_of_input(const IValue* arguments, const IValue*) {
  return of_points(arguments[0].toTensor(), arguments[1].toTensor());
}

// convolution_backward(grad_output, input, weight, ...)
template <std::size_t kTransposed, std::size_t kMask>
Arithmetic of_convolution_backward(const IValue* arguments, const IValue*) {
  const bool transposed = arguments[kTransposed].toBool();
  Arithmetic work = of_points(arguments[transposed ? 1 : 0].toTensor(), arguments[2].toTensor());
  const auto mask = arguments[kMask].toBoolList();
  work.operations *= (mask.get(0) ? 1 : 0) + (mask.get(1) ? 1 : 0);
  return work;
}

// Attention of query [.., s, e] over key [.., t, e] and value [.., t, v]; half of it if causal.
double operations_of_attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  return 2 * elements_in(query) / static_cast<double>(query.size(-1)) *
         static_cast<double>(key.size(-2)) * static_cast<double>(query.size(-1) + value.size(-1));
}

// `kCausal`: the place of is_causal.
template <std::size_t kCausal>
Arithmetic of_attention(const IValue* arguments, const IValue*) {
  const Tensor& query = arguments[0].toTensor();
  if (query.numel() == 0) return {};
  const double whole =
      operations_of_attention(query, arguments[1].toTensor(), arguments[2].toTensor());
  return {arguments[kCausal].toBool() ? whole / 2 : whole, query.scalar_type(),
          products_may_use_tf32()};
}

// Five products instead of two: the scores are computed again.
template <std::size_t kCausal>
Arithmetic of_attention_backward(const IValue* arguments, const IValue*) {
  const Tensor& query = arguments[1].toTensor();
  if (query.numel() == 0) return {};
  const double whole =
      2.5 * operations_of_attention(query, arguments[2].toTensor(), arguments[3].toTensor());
  return {arguments[kCausal].toBool() ? whole / 2 : whole, query.scalar_type(),
          products_may_use_tf32()};
}

// _cudnn_rnn(input, weight, ...): each step multiplies with all weights.
Arithmetic of_recurrent(const IValue* arguments, const IValue*) {
  const Tensor& input = arguments[0].toTensor();
  double weights = 0;
  for (const Tensor& one : arguments[1].toTensorVector()) weights += elements_in(one);
  const double steps = input.dim() < 2 ? 0 : static_cast<double>(input.size(0) * input.size(1));
  return {2 * weights * steps, input.scalar_type(), at::globalContext().allowTF32CuDNN()};
}
Arithmetic of_recurrent_backward(const IValue* arguments, const IValue*) {
  Arithmetic work = of_recurrent(arguments, nullptr);
  work.operations *= 2;
  return work;
}

}  // namespace

ArithmeticOf arithmetic_of(const c10::OperatorName& name) {
  static const std::unordered_map<std::string, ArithmeticOf> kTable = {
      {"aten::mm", &of_product<0>},
      {"aten::mm.out", &of_product<0>},
      {"aten::mv", &of_product<0>},
      {"aten::bmm", &of_product<0>},
      {"aten::bmm.out", &of_product<0>},
      {"aten::_scaled_mm", &of_product<0>},
      {"aten::_int_mm", &of_product<0>},
      {"aten::addmm", &of_product<1>},
      {"aten::addmm.out", &of_product<1>},
      {"aten::addmm_", &of_product<1>},
      {"aten::_addmm_activation", &of_product<1>},
      {"aten::baddbmm", &of_product<1>},
      {"aten::baddbmm.out", &of_product<1>},
      {"aten::baddbmm_", &of_product<1>},
      {"aten::_convolution", &of_convolution<6>},
      {"aten::convolution", &of_convolution<6>},
      {"aten::convolution_overrideable", &of_convolution<6>},
      {"aten::cudnn_convolution", &of_convolution<0>},
      {"aten::cudnn_convolution_transpose", &of_points_of_input},
      {"aten::_conv_depthwise2d", &of_convolution<0>},
      {"aten::conv_depthwise3d", &of_convolution<0>},
      {"aten::_slow_conv2d_forward", &of_convolution<0>},
      {"aten::slow_conv3d_forward", &of_convolution<0>},
      {"aten::slow_conv_transpose2d", &of_points_of_input},
      {"aten::convolution_backward", &of_convolution_backward<7, 10>},
      {"aten::convolution_backward_overrideable", &of_convolution_backward<6, 9>},
      {"aten::_scaled_dot_product_flash_attention", &of_attention<4>},
      {"aten::_scaled_dot_product_efficient_attention", &of_attention<6>},
      {"aten::_scaled_dot_product_cudnn_attention", &of_attention<6>},
      {"aten::_scaled_dot_product_flash_attention_backward", &of_attention_backward<11>},
      {"aten::_scaled_dot_product_efficient_attention_backward", &of_attention_backward<11>},
      {"aten::_scaled_dot_product_cudnn_attention_backward", &of_attention_backward<14>},
      {"aten::_cudnn_rnn", &of_recurrent},
      {"aten::_cudnn_rnn_backward", &of_recurrent_backward},
  };
  const auto found = kTable.find(full_name(name));
  return found == kTable.end() ? nullptr : found->second;
}

}  // namespace torchport::vdev
