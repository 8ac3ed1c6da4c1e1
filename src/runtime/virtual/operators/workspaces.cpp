#include "runtime/virtual/operators/workspaces.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/result_type.h>

#include "runtime/virtual/core/operator_names.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/workspaces_of_convolutions.h"
#include "runtime/virtual/operators/workspaces_of_sorts.h"
#include "runtime/virtual/operators/workspaces_of_sums.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;
using at::Tensor;
using c10::IValue;
using WorkspaceBlocks = c10::SmallVector<std::int64_t, 2>;

std::int64_t bytes_for(std::int64_t count, ScalarType type) {
  return count * static_cast<std::int64_t>(c10::elementSize(type));
}

// The type that a sum or product is computed in: `dtype`, or int64 for integers.
ScalarType type_of_sum(const Tensor& self, const IValue& dtype) {
  if (dtype.isInt()) return dtype.toScalarType();
  return at::isIntegralType(self.scalar_type(), /*includeBool=*/true) ? at::kLong
                                                                      : self.scalar_type();
}

// make_reduction in ReduceOpsUtils.h converts the whole input to the type of the result, but for
// half types that are added up in float32.
template <std::size_t kDtype>
WorkspaceBlocks converted_for_reduction(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const ScalarType type = type_of_sum(self, arguments[kDtype]);
  const bool reads_halves = at::isReducedFloatingType(self.scalar_type()) && type == at::kFloat;
  if (type == self.scalar_type() || reads_halves) return {};
  return {bytes_for(self.numel(), type)};
}

// sum(self, dim, keepdim, dtype) and mean: what is converted, and the parts of sums over rows. Half
// types are added up in float32.
WorkspaceBlocks added_up(const IValue* arguments) {
  WorkspaceBlocks blocks = converted_for_reduction<3>(arguments);
  const Tensor& self = arguments[0].toTensor();
  ScalarType type = type_of_sum(self, arguments[3]);
  if (at::isReducedFloatingType(type)) type = at::kFloat;
  const auto dims = arguments[1].isNone() ? c10::DimVector() : arguments[1].toDimVector();
  for (const std::int64_t bytes : bytes_of_sum(self, dims, bytes_for(1, type)))
    blocks.push_back(bytes);
  return blocks;
}

// cumsum and cumprod in ReduceOps.cpp
WorkspaceBlocks converted_for_scan(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const ScalarType type = type_of_sum(self, arguments[2]);
  if (type == self.scalar_type()) return {};
  return {bytes_for(self.numel(), type)};
}

// count_nonzero_cuda in TensorAdvancedIndexing.cpp: which elements are not zero, and those as int64
WorkspaceBlocks not_zero(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  WorkspaceBlocks blocks{bytes_for(self.numel(), at::kLong)};
  if (self.scalar_type() != at::kBool) blocks.push_back(self.numel());
  return blocks;
}

// Equal.cpp: which elements are equal, and whether all are
WorkspaceBlocks equal_elements(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& other = arguments[1].toTensor();
  const bool is_same = self.is_alias_of(other) && self.storage_offset() == other.storage_offset() &&
                       self.scalar_type() == other.scalar_type() &&
                       self.strides() == other.strides();
  if (self.sizes() != other.sizes() || self.numel() == 0 || is_same) return {};
  return {self.numel(), 1};
}

// mse_loss, smooth_l1_loss and huber_loss(self, target, reduction, ...) of Loss.cpp: the losses of
// all elements, if one number is made of them
WorkspaceBlocks bytes_of_losses(const IValue* arguments) {
  constexpr std::int64_t kNone = 0;
  if (arguments[2].toInt() == kNone) return {};
  const Tensor& self = arguments[0].toTensor();
  const Tensor& target = arguments[1].toTensor();
  const auto sizes = at::infer_size_dimvector(self.sizes(), target.sizes());
  return {bytes_for(c10::multiply_integers(sizes), at::result_type(self, target))};
}

// binary_cross_entropy(self, target, weight, reduction) of Loss.cu: its result has the memory of
// the losses, and gets the number copied
WorkspaceBlocks one_loss(const IValue* arguments) {
  if (arguments[3].toInt() == 0) return {};
  return {bytes_for(1, arguments[0].toTensor().scalar_type())};
}

// softmax_backward_cuda_out in SoftMax.cu: the product of gradient and output
WorkspaceBlocks product_with_output(const IValue* arguments) {
  const Tensor& grad = arguments[0].toTensor();
  return {bytes_for(grad.numel(), grad.scalar_type())};
}

// native_group_norm(input, weight, bias, N, C, HxW, group, eps) of group_norm_kernel.cu: a factor
// and a summand for each channel of each sample
WorkspaceBlocks fused_parameters(const IValue* arguments) {
  const bool has_parameters = arguments[1].isTensor() || arguments[2].isTensor();
  if (!has_parameters || arguments[5].toInt() == 1) return {};
  const ScalarType type = arguments[0].toTensor().scalar_type();
  const std::int64_t bytes = bytes_for(arguments[3].toInt() * arguments[4].toInt(),
                                       at::isReducedFloatingType(type) ? at::kFloat : type);
  return {bytes, bytes};
}

// _fft_c2r_cufft in SpectralOps.cpp: such a transform overwrites its input
WorkspaceBlocks copy_of_input(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  return {bytes_for(self.numel(), self.scalar_type())};
}

// renorm_out(self, p, dim, maxnorm) in Normalization.cpp: the norms, and the factors if their type
// is another one
WorkspaceBlocks norms_and_factors(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (self.dim() < 2) return {};
  const std::int64_t dim = arguments[2].toInt();
  const std::int64_t count = self.size(dim);
  const ScalarType type = c10::toRealValueType(self.scalar_type());
  if (!at::isReducedFloatingType(type)) return {bytes_for(count, type)};
  return {bytes_for(count, at::kFloat), bytes_for(count, type)};
}

// index_reduce(self, dim, index, source, reduce, ...) of Indexing.cu: how many numbers each mean is
// of
WorkspaceBlocks counts_of_means(const IValue* arguments) {
  if (arguments[4].toStringView() != "mean") return {};
  const Tensor& self = arguments[0].toTensor();
  const Tensor& source = arguments[3].toTensor();
  return {bytes_for(self.numel(), self.scalar_type()),
          bytes_for(source.numel(), source.scalar_type())};
}

// scatter_reduce(self, dim, index, src, reduce, ...) in TensorAdvancedIndexing.cpp: ones, how many
// numbers each mean is of, and which have none
WorkspaceBlocks counts_of_scattered_means(const IValue* arguments) {
  if (arguments[4].toStringView() != "mean") return {};
  const Tensor& self = arguments[0].toTensor();
  const Tensor& source = arguments[3].toTensor();
  return {bytes_for(source.numel(), source.scalar_type()),
          bytes_for(self.numel(), self.scalar_type()), self.numel()};
}

// ldexp(self, other) in BinaryOps.cpp: the powers of two
WorkspaceBlocks powers_of_two(const IValue* arguments) {
  const Tensor& other = arguments[1].toTensor();
  return {bytes_for(other.numel(), at::result_type(other, 2.0))};
}

// cholesky_inverse(self, upper) and _cholesky_solve_helper(self, A, upper) of
// linalg/BatchLinearAlgebraLib.cpp: a copy of the matrices in columns, and whether it went well
template <std::size_t kMatrices>
WorkspaceBlocks copy_in_columns(const IValue* arguments) {
  const Tensor& matrices = arguments[kMatrices].toTensor();
  const auto batch = matrices.sizes().slice(0, matrices.dim() - 2);
  if (c10::multiply_integers(batch) == 0) return {};
  const std::int64_t information = bytes_for(1, at::kInt);
  if (matrices.numel() == 0) return {information};
  return {information, bytes_for(matrices.numel(), matrices.scalar_type())};
}

// normal(Tensor mean, float std) in DistributionTemplates.h: a tensor of the deviations
WorkspaceBlocks deviations(const IValue* arguments) {
  const Tensor& mean = arguments[0].toTensor();
  return {bytes_for(mean.numel(), mean.scalar_type())};
}

// bernoulli_tensor_cuda_kernel in DistributionTemplates.h: the probabilities in the type that is
// drawn
template <std::size_t kProbabilities, std::size_t kDrawn>
WorkspaceBlocks converted_probabilities(const IValue* arguments) {
  const Tensor& p = arguments[kProbabilities].toTensor();
  const bool is_double = arguments[kDrawn].toTensor().scalar_type() == at::kDouble;
  const auto type = is_double ? at::kDouble : at::kFloat;
  if (p.scalar_type() == type || p.numel() == 0) return {};
  return {bytes_for(p.numel(), type)};
}

// By the name with its overload.
const std::unordered_map<std::string_view, Workspace>& workspaces() {
  static const std::unordered_map<std::string_view, Workspace> kWorkspaces = {
      {"aten::_cholesky_solve_helper", &copy_in_columns<1>},
      {"aten::_convolution", &bytes_of_convolution},
      {"aten::_fft_c2r", &copy_of_input},
      {"aten::_index_put_impl_", &bytes_of_index_put},
      {"aten::_softmax_backward_data", &product_with_output},
      {"aten::_unique2", &bytes_of_unique},
      {"aten::bernoulli.out", &converted_probabilities<0, 2>},
      {"aten::bernoulli_.Tensor", &converted_probabilities<1, 0>},
      {"aten::binary_cross_entropy", &one_loss},
      {"aten::cholesky_inverse", &copy_in_columns<0>},
      {"aten::convolution_backward", &bytes_of_convolution_gradient},
      {"aten::count_nonzero.dim_IntList", &not_zero},
      {"aten::cumprod", &converted_for_scan},
      {"aten::cumsum", &converted_for_scan},
      {"aten::equal", &equal_elements},
      {"aten::huber_loss", &bytes_of_losses},
      {"aten::index.Tensor", &bytes_of_masks},
      {"aten::index_reduce", &counts_of_means},
      {"aten::ldexp.Tensor", &powers_of_two},
      {"aten::masked_scatter_", &bytes_of_masked_scatter},
      {"aten::masked_select", &bytes_of_selection},
      {"aten::mean.dim", &added_up},
      {"aten::median", &bytes_of_median},
      {"aten::mse_loss", &bytes_of_losses},
      {"aten::nanmedian", &bytes_of_median},
      {"aten::nansum", &converted_for_reduction<3>},
      {"aten::native_group_norm", &fused_parameters},
      {"aten::normal.Tensor_float", &deviations},
      {"aten::prod", &converted_for_reduction<1>},
      {"aten::prod.dim_int", &converted_for_reduction<3>},
      {"aten::renorm", &norms_and_factors},
      {"aten::scatter_reduce.two", &counts_of_scattered_means},
      {"aten::scatter_reduce_.two", &counts_of_scattered_means},
      {"aten::smooth_l1_loss", &bytes_of_losses},
      {"aten::sort.stable", &bytes_of_sort},
      {"aten::sort.values_stable", &bytes_of_sort},
      {"aten::sum.dim_IntList", &added_up},
      {"aten::unique_consecutive", &bytes_of_unique_consecutive},
  };
  return kWorkspaces;
}

}  // namespace

bool is_dispensable(Workspace workspace) {
  return workspace == &bytes_of_convolution || workspace == &bytes_of_convolution_gradient;
}

Workspace workspace_of(const c10::OperatorName& name, c10::DispatchKey cpu) {
  if (cpu != c10::DispatchKey::CPU || Runtime::get().kind_name() != "cuda") return nullptr;
  const auto found = workspaces().find(full_name(name));
  return found == workspaces().end() ? nullptr : found->second;
}

}  // namespace torchport::vdev
