#include "runtime/virtual/without_data/normalization_meta.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/AccumulateType.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

namespace torchport::vdev::meta {

namespace {

using at::Tensor;

Tensor make(at::IntArrayRef sizes, at::ScalarType type,
            c10::MemoryFormat format = c10::MemoryFormat::Contiguous) {
  return at::detail::empty_meta(sizes, type, std::nullopt, std::nullopt, std::nullopt, format);
}

// As at::empty_like: the strides too, if elements neither overlap nor leave holes.
Tensor make_like(const Tensor& one) {
  const auto strides = one.is_non_overlapping_and_dense()
                           ? one.strides().vec()
                           : at::infer_dense_strides(one.sizes(), one.strides());
  return at::detail::empty_strided_meta(one.sizes(), strides, one.options());
}

bool is_there(Optional one) {
  return one.has_value() && one->defined();
}

// Of the sums over a batch.
at::ScalarType sums_type(const Tensor& input) {
  return at::toAccumulateType(input.scalar_type(), c10::DeviceType::CUDA);
}

std::int64_t channels(const Tensor& input) {
  TORCH_CHECK(input.dim() >= 2, "rank of the input must be at least 2, got ", input.dim());
  return input.size(1);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, Optional /*weight*/,
                                                     Optional /*bias*/, Optional /*running_mean*/,
                                                     Optional /*running_var*/, bool /*training*/,
                                                     double /*momentum*/, double /*eps*/) {
  const at::ScalarType type = sums_type(input);
  return {make_like(input), make({channels(input)}, type), make({channels(input)}, type)};
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm_backward(
    const Tensor& /*gradient*/, const Tensor& input, Optional weight, Optional /*running_mean*/,
    Optional /*running_var*/, Optional /*save_mean*/, Optional /*save_invstd*/, bool /*train*/,
    double /*eps*/, std::array<bool, 3> wanted) {
  const at::ScalarType type = is_there(weight) ? weight->scalar_type() : input.scalar_type();
  const auto of_channels = [&](bool is_wanted) {
    return is_wanted ? make({channels(input)}, type) : Tensor();
  };
  return {make_like(input), of_channels(wanted[1]), of_channels(wanted[2])};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> cudnn_batch_norm(const Tensor& input,
                                                            const Tensor& weight, Optional /*bias*/,
                                                            Optional /*running_mean*/,
                                                            Optional /*running_var*/, bool training,
                                                            double /*momentum*/, double /*eps*/) {
  const std::int64_t saved = training ? channels(input) : 0;
  const at::ScalarType type = training ? sums_type(input) : weight.scalar_type();
  return {make(input.sizes(), input.scalar_type(), input.suggest_memory_format()),
          make({saved}, type), make({saved}, type), make({0}, at::kByte)};
}

std::tuple<Tensor, Tensor, Tensor> cudnn_batch_norm_backward(
    const Tensor& input, const Tensor& /*gradient*/, const Tensor& weight,
    Optional /*running_mean*/, Optional /*running_var*/, Optional /*save_mean*/,
    Optional /*save_var*/, double /*eps*/, const Tensor& /*reserve*/) {
  return {make(input.sizes(), input.scalar_type(), input.suggest_memory_format()),
          make({channels(input)}, weight.scalar_type()),
          make({channels(input)}, weight.scalar_type())};
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input, c10::SymIntArrayRef shape,
                                                     Optional weight, Optional bias,
                                                     double /*eps*/) {
  const auto normalized = C10_AS_INTARRAYREF_SLOW(shape);
  TORCH_CHECK(!normalized.empty(),
              "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
              "one element, but got normalized_shape = ",
              normalized);
  TORCH_CHECK(!is_there(weight) || weight->sizes() == normalized,
              "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
              weight->sizes(), " and normalized_shape = ", normalized);
  TORCH_CHECK(!is_there(bias) || bias->sizes() == normalized,
              "Expected bias to be of same shape as normalized_shape, but got bias of shape ",
              bias->sizes(), " and normalized_shape = ", normalized);
  const std::size_t count = normalized.size();
  TORCH_CHECK(static_cast<std::size_t>(input.dim()) >= count &&
                  input.sizes().slice(static_cast<std::size_t>(input.dim()) - count) == normalized,
              "Given normalized_shape=", normalized, ", expected input with shape [*, ",
              c10::Join(", ", normalized), "], but got input of size", input.sizes());
  std::vector<std::int64_t> of_rows = input.sizes().vec();
  std::fill(of_rows.end() - static_cast<std::ptrdiff_t>(count), of_rows.end(), 1);
  const at::ScalarType type = sums_type(input);
  return {make(input.sizes(), input.scalar_type()), make(of_rows, type), make(of_rows, type)};
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(
    const Tensor& /*gradient*/, const Tensor& input, c10::SymIntArrayRef shape,
    const Tensor& /*mean*/, const Tensor& /*rstd*/, Optional weight, Optional bias,
    std::array<bool, 3> wanted) {
  const auto normalized = C10_AS_INTARRAYREF_SLOW(shape);
  return {wanted[0] ? make(input.sizes(), input.scalar_type()) : Tensor(),
          wanted[1] && is_there(weight) ? make(normalized, weight->scalar_type()) : Tensor(),
          wanted[2] && is_there(bias) ? make(normalized, bias->scalar_type()) : Tensor()};
}

}  // namespace torchport::vdev::meta
