#include "runtime/virtual/operators/result_rules.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/enum_tag.h>
#include <ATen/ops/conj_physical.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/util/strides.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/fourier_layout.h"
#include "runtime/virtual/operators/laid_out.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;

// The results with these indices are contiguous, also those without elements.
template <std::size_t... kIndices>
void make_contiguous(const IValue*, IValue* results) {
  const auto lay_out = [](IValue& result) {
    const Tensor& tensor = result.toTensor();
    if (tensor.defined()) result = laid_out(tensor, c10::contiguous_strides(tensor.sizes()));
  };
  (lay_out(results[kIndices]), ...);
}

// cuSOLVER returns V where LAPACK returns its adjoint. The third result is the conjugate of what is
// stored (svd_kernel in linalg/BatchLinearAlgebra.cpp).
void adjoin(const IValue* arguments, IValue* results) {
  make_contiguous<2>(arguments, results);
  Tensor adjoint = results[2].toTensor();
  if (!adjoint.defined() || !adjoint.is_complex() || adjoint.numel() == 0 || adjoint.is_conj())
    return;
  adjoint = adjoint.conj_physical();
  adjoint._set_conj(true);
  results[2] = adjoint;
}

// Nonzero.cu writes the indices of each dimension side by side, and returns the transposed tensor.
void transposed_indices(const IValue*, IValue* results) {
  const Tensor& indices = results[0].toTensor();
  results[0] = laid_out(indices, {1, std::max<std::int64_t>(indices.size(0), 1)});
}

// A result in the memory of as many elements as the input has.
void put_in_memory_of(const Tensor& self, IValue& result) {
  const Tensor& tensor = result.toTensor();
  if (tensor.numel() == self.numel()) return;
  Tensor whole = at::empty({self.numel()}, tensor.options());
  result = whole.resize_(tensor.sizes()).copy_(tensor);
}

// compute_unique in UniqueCub.cu makes its results as large as the input, and resizes them.
// _unique2(self, sorted, return_inverse, return_counts)
void keep_memory_of_unique(const IValue* arguments, IValue* results) {
  const Tensor& self = arguments[0].toTensor();
  if (self.scalar_type() == at::kBool) return;
  put_in_memory_of(self, results[0]);
  if (arguments[3].toBool()) put_in_memory_of(self, results[2]);
}

// unique_consecutive(self, return_inverse, return_counts, dim)
void keep_memory_of_consecutive(const IValue* arguments, IValue* results) {
  if (!arguments[3].isNone()) return;
  put_in_memory_of(arguments[0].toTensor(), results[0]);
  if (arguments[2].toBool()) put_in_memory_of(arguments[0].toTensor(), results[2]);
}

// By the operator's name without its overload; in place and with out= the layout is that of the
// argument.
const std::unordered_map<std::string_view, ResultRule>& result_rules() {
  static const std::unordered_map<std::string_view, ResultRule> kRules = {
      {"aten::_fft_c2c", &lay_out_complex_transform},
      {"aten::_fft_c2r", &lay_out_transform_to_real},
      {"aten::_fft_r2c", &lay_out_transform_of_real},
      {"aten::_linalg_svd", &adjoin},
      {"aten::_unique2", &keep_memory_of_unique},
      // It is copied into a result without elements (linalg_eig_out there).
      {"aten::linalg_eig", &make_contiguous<1>},
      // MaxUnpooling.cu, ReflectionPad.cu, ReplicationPadding.cu: resize_() without a format, and
      // LEGACY_CONTIGUOUS_MEMORY_FORMAT.
      {"aten::max_unpool2d", &make_contiguous<0>},
      {"aten::nonzero", &transposed_indices},
      {"aten::nonzero_static", &transposed_indices},
      {"aten::reflection_pad2d", &make_contiguous<0>},
      {"aten::reflection_pad2d_backward", &make_contiguous<0>},
      {"aten::reflection_pad3d", &make_contiguous<0>},
      {"aten::reflection_pad3d_backward", &make_contiguous<0>},
      {"aten::replication_pad2d", &make_contiguous<0>},
      {"aten::replication_pad2d_backward", &make_contiguous<0>},
      {"aten::replication_pad3d", &make_contiguous<0>},
      {"aten::replication_pad3d_backward", &make_contiguous<0>},
      // roll_cuda in TensorTransformations.cu
      {"aten::roll", &make_contiguous<0>},
      {"aten::unique_consecutive", &keep_memory_of_consecutive},
  };
  return kRules;
}

bool imitates_cuda() {
  return Runtime::get().kind_name() == "cuda";
}

bool is_strided(const Tensor& tensor) {
  return tensor.defined() && tensor.dim() > 0 && tensor.layout() == at::kStrided;
}

}  // namespace

ResultRule result_rule_of(const c10::OperatorName& name, c10::DispatchKey cpu) {
  if (cpu != c10::DispatchKey::CPU || !imitates_cuda()) return nullptr;
  const std::string_view overload = name.overload_name;
  if (overload == "out" || overload.ends_with("_out") || overload == "grad_input") return nullptr;
  const auto found = result_rules().find(name.name);
  return found == result_rules().end() || name.overload_name == "U" ? nullptr : found->second;
}

bool has_layout_of_iterator(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  return imitates_cuda() && op.hasTag(at::Tag::pointwise) && !schema.is_mutable() &&
         schema.returns().size() == 1 && schema.returns()[0].type()->str() == "Tensor" &&
         schema.name() != "aten::where";  // converts before, on CUDA as well
}

bool promotes_with_gaps(const IValue* arguments, std::size_t count) {
  auto type = at::ScalarType::Undefined;
  bool is_mixed = false;
  bool has_gaps = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!arguments[i].isTensor()) continue;
    const Tensor& tensor = arguments[i].toTensor();
    if (!is_strided(tensor)) continue;
    if (type == at::ScalarType::Undefined) type = tensor.scalar_type();
    is_mixed |= type != tensor.scalar_type();
    has_gaps |= !tensor.is_non_overlapping_and_dense();
  }
  return is_mixed && has_gaps;
}

void lay_out_as_iterator(const IValue* arguments, std::size_t count, IValue& result) {
  const Tensor& tensor = result.toTensor();
  if (!is_strided(tensor)) return;
  // An iterator over tensors of one type without memory, which converts nothing.
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).add_owned_output(Tensor());
  for (std::size_t i = 0; i < count; ++i) {
    if (!arguments[i].isTensor() || !arguments[i].toTensor().defined()) continue;
    const Tensor& argument = arguments[i].toTensor();
    if (argument.layout() != at::kStrided) return;
    config.add_owned_const_input(at::empty_strided(argument.sizes(), argument.strides(),
                                                   at::TensorOptions(at::kMeta).dtype(at::kFloat)));
  }
  const at::TensorIterator iterator = config.build();
  if (iterator.output().sizes() != tensor.sizes()) return;
  result = laid_out(tensor, iterator.output().strides());
}

}  // namespace torchport::vdev
