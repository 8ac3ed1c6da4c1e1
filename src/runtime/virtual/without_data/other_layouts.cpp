#include "runtime/virtual/without_data/other_layouts.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_empty_affine_quantized.h>
#include <ATen/ops/_empty_per_channel_affine_quantized.h>
#include <ATen/ops/_sparse_compressed_tensor_unsafe.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/accumulate.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/typed_kernel.h"
#include "runtime/virtual/without_data/meta_aliases.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;
using Sizes = std::vector<std::int64_t>;

// A tensor's results where it has no values: whether it was its call.
using Instead = bool (*)(Stack* stack, std::size_t first);

// dequantize.self(self)
bool dequantize(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  if (!lacks_data(self)) return false;
  const auto options = self.options().dtype(at::kFloat);
  return leave_results(stack, first, {IValue(at::empty(self.sizes(), options))});
}

// int_repr(self)
bool int_repr(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  if (!lacks_data(self)) return false;
  const auto options = self.options().dtype(c10::toUnderlying(self.scalar_type()));
  return leave_results(stack, first, {IValue(at::empty(self.sizes(), options))});
}

// _coalesce(self): no two elements are at the same place, unless there are more than places.
bool coalesce(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const Tensor indices = self._indices();
  const Tensor values = self._values();
  if (!lack_data({indices, values}) && !is_made_up(indices)) return false;
  const auto places =
      c10::multiply_integers(self.sizes().slice(0, static_cast<std::size_t>(self.sparse_dim())));
  const std::int64_t count = std::min(self._nnz(), places);
  Sizes of_values = values.sizes().vec();
  of_values[0] = count;
  const Tensor found =
      at::_sparse_coo_tensor_unsafe(made_up_zeros({self.sparse_dim(), count}, indices, at::kLong),
                                    made_up_zeros(of_values, values, values.scalar_type()),
                                    self.sizes(), values.options().layout(at::kSparse), true);
  return leave_results(stack, first, {IValue(found)});
}

Tensor values_of(const Tensor& sparse) {
  return sparse.layout() == at::kSparse ? sparse._values() : sparse.values();
}

// Leaves the product of a sparse matrix and a dense one, if values of one are not there.
bool product_with_sparse(Stack* stack, std::size_t first, const Tensor& left, const Tensor& right) {
  if (left.layout() == at::kStrided || right.layout() != at::kStrided || left.dim() != 2 ||
      right.dim() != 2 || left.size(1) != right.size(0) || !lack_data({values_of(left), right}))
    return false;
  return leave_results(
      stack, first,
      {IValue(made_up_zeros({left.size(0), right.size(1)}, right, right.scalar_type()))});
}

// mm(self, mat2)
bool mm(Stack* stack, std::size_t first) {
  const Tensor left = (*stack)[first].toTensor();
  const Tensor right = (*stack)[first + 1].toTensor();
  return product_with_sparse(stack, first, left, right);
}

// addmm(self, mat1, mat2, *, beta, alpha)
bool addmm(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const Tensor left = (*stack)[first + 1].toTensor();
  const Tensor right = (*stack)[first + 2].toTensor();
  return self.layout() == at::kStrided && product_with_sparse(stack, first, left, right);
}

class LayoutKernel final : public c10::OperatorKernel {
 public:
  LayoutKernel(Instead instead, c10::SafeKernelFunction below)
      : instead_(instead), below_(std::move(below)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) const {
    const std::size_t first = stack->size() - op.schema().arguments().size();
    if (!instead_(stack, first)) below_.callBoxed(op, keys, stack);
  }

 private:
  Instead instead_;
  c10::SafeKernelFunction below_;
};

void cover(const char* name, const char* overload, c10::DispatchKey key, Instead instead) {
  const auto op = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!op || !op->hasComputedKernelForDispatchKey(key)) return;
  put(*op, key,
      c10::KernelFunction::makeFromBoxedFunctor<LayoutKernel>(
          std::make_unique<LayoutKernel>(instead, op->getComputedKernelForDispatchKey(key))));
}

}  // namespace

bool leave_results(Stack* stack, std::size_t first, std::initializer_list<IValue> results) {
  stack->resize(first);
  stack->insert(stack->end(), results.begin(), results.end());
  return true;
}

Tensor made_up_zeros(at::IntArrayRef sizes, const Tensor& like, at::ScalarType type) {
  const Tensor made = at::empty(sizes, like.options().dtype(type));
  make_up({made});
  return made;
}

// _to_sparse_csr(self, dense_dim) and _to_sparse_bsr(self, blocksize, dense_dim) of matrices: each
// element or block counts. As PyTorch, by the rows and the columns of all of them.
bool to_compressed(Stack* stack, std::size_t first, at::Layout layout) {
  const Tensor self = (*stack)[first].toTensor();
  const bool by_blocks = layout == at::kSparseBsr || layout == at::kSparseBsc;
  const IValue& dense = (*stack)[first + (by_blocks ? 2 : 1)];
  if (self.dim() != 2 || (!dense.isNone() && dense.toInt() != 0)) return false;
  const Sizes block = by_blocks ? (*stack)[first + 1].toIntVector() : Sizes{1, 1};
  if (block.size() != 2 || block[0] < 1 || block[1] < 1 || self.size(0) % block[0] != 0 ||
      self.size(1) % block[1] != 0)
    return false;
  const std::int64_t rows = self.size(0) / block[0];
  const std::int64_t columns = self.size(1) / block[1];
  const bool by_rows = layout == at::kSparseCsr || layout == at::kSparseBsr;
  const std::int64_t lines = by_rows ? rows : columns;
  const std::int64_t each = by_rows ? columns : rows;
  const Tensor other = made_up_zeros({lines * each}, self, at::kLong);
  const Tensor plain = made_up_zeros({lines * each}, self, at::kLong);
  const Tensor ends = made_up_zeros({lines + 1}, self, at::kLong);
  if (!lacks_data(ends)) ends.copy_(at::arange(lines + 1, at::kLong) * each);
  const Tensor values =
      by_blocks ? made_up_zeros({lines * each, block[0], block[1]}, self, self.scalar_type())
                : made_up_zeros({lines * each}, self, self.scalar_type());
  const auto options = values.options().layout(layout);
  return leave_results(
      stack, first,
      {IValue(at::_sparse_compressed_tensor_unsafe(ends, plain, values, self.sizes(), options))});
}

// quantize_per_tensor(self, scale, zero_point, dtype), with numbers or with tensors of one
bool quantize_per_tensor(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const IValue scale = (*stack)[first + 1];
  const IValue zero = (*stack)[first + 2];
  const auto type = (*stack)[first + 3].toScalarType();
  const double by = scale.isTensor() ? scale.toTensor().item<double>() : scale.toDouble();
  const std::int64_t at = zero.isTensor() ? zero.toTensor().item<std::int64_t>() : zero.toInt();
  return leave_results(
      stack, first,
      {IValue(at::_empty_affine_quantized(self.sizes(), self.options().dtype(type), by, at))});
}

// quantize_per_channel(self, scales, zero_points, axis, dtype)
bool quantize_per_channel(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const Tensor scales = (*stack)[first + 1].toTensor();
  const Tensor zeros = (*stack)[first + 2].toTensor();
  const std::int64_t axis = (*stack)[first + 3].toInt();
  const auto options = self.options().dtype((*stack)[first + 4].toScalarType());
  return leave_results(stack, first,
                       {IValue(at::_empty_per_channel_affine_quantized(self.sizes(), scales, zeros,
                                                                       axis, options))});
}

// (output, mask)
bool fake_quantize(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const Tensor output = at::empty_like(self);
  const Tensor mask = at::empty_like(self, self.options().dtype(at::kBool));
  make_up({output, mask});
  return leave_results(stack, first, {IValue(output), IValue(mask)});
}

// _weight_int4pack_mm(self, mat2, q_group_size, q_scale_and_zeros): the meta kernel asks for a
// device that only FakeTensors have.
bool weight_int4pack_mm(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const Tensor packed = (*stack)[first + 1].toTensor();
  constexpr std::int64_t kRowsOfTile = 8;
  TORCH_CHECK(self.dim() == 2 && packed.dim() == 4, "_weight_int4pack_mm: expected a matrix and a ",
              "packed weight of four dimensions");
  const Tensor product =
      made_up_zeros({self.size(0), packed.size(0) * kRowsOfTile}, self, self.scalar_type());
  return leave_results(stack, first, {IValue(product)});
}

void cover_other_layouts() {
  const KindKeys& keys = Runtime::get().kind();
  cover("aten::dequantize", "self", keys.quantized, &dequantize);
  cover("aten::int_repr", "", keys.quantized, &int_repr);
  cover("aten::_coalesce", "", keys.sparse, &coalesce);
  for (const c10::DispatchKey key : {keys.sparse, keys.sparse_csr}) {
    cover("aten::mm", "", key, &mm);
    cover("aten::addmm", "", key, &addmm);
  }
}

}  // namespace torchport::vdev
