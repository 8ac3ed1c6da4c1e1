// Implements the sum of two sparse tensors as CUDA does (SparseCUDATensorMath.cu): it puts the
// elements of both side by side, so that the result is not coalesced. The CPU's kernel merges them.
// A program sees the difference: indices() of such a sum raises, and its memory is that of both.
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/result_type.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

enum class WrittenArgument { kNothing, kSelf, kOut };

// The CPU does not merge complex32.
Tensor merged(const Tensor& sum) {
  if (sum.scalar_type() != at::kComplexHalf) return sum.coalesce();
  return sum.to(at::kComplexFloat).coalesce().to(at::kComplexHalf);
}

// self + scale * other, of elements side by side.
Tensor side_by_side(const Tensor& self, const Tensor& other, const at::Scalar& scale) {
  const at::ScalarType type = at::result_type(self, other);
  const Tensor values = other._values().to(type);
  const bool scaled = scale.isComplex() || scale.toDouble() != 1;
  const Tensor sum = at::_sparse_coo_tensor_unsafe(
      at::cat({self._indices(), other._indices()}, 1),
      at::cat({self._values().to(type), scaled ? values.mul(scale) : values}, 0), self.sizes(),
      self.options().dtype(type));
  return sum._nnz() > sum.numel() ? merged(sum) : sum;
}

// (Tensor self, Tensor other, *, Scalar alpha=1[, Tensor(a!) out])
template <WrittenArgument kWritten, int kSign>
void add(torch::jit::Stack* stack) {
  constexpr std::size_t kArguments = kWritten == WrittenArgument::kOut ? 4 : 3;
  const std::vector<c10::IValue> arguments = torch::jit::pop(*stack, kArguments);
  const at::Scalar alpha = arguments[2].toScalar();
  const Tensor sum =
      side_by_side(arguments[0].toTensor(), arguments[1].toTensor(), kSign < 0 ? -alpha : alpha);
  if constexpr (kWritten == WrittenArgument::kNothing) {
    stack->emplace_back(sum);
  } else {
    const Tensor written = arguments[kWritten == WrittenArgument::kSelf ? 0 : 3].toTensor();
    TORCH_CHECK(c10::canCast(sum.scalar_type(), written.scalar_type()),
                "Can't convert result type ", sum.scalar_type(), " to output ",
                written.scalar_type());
    const bool is_other = sum.scalar_type() != written.scalar_type();
    written.resize_as_sparse_(sum);
    stack->emplace_back(written.copy_(is_other ? merged(sum) : sum));
  }
}

// The other cases, and those that are refused, are the same on the CPU.
template <Compute kCompute>
Compute choose_add(const c10::IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& other = arguments[1].toTensor();
  const bool is_sum = self.is_sparse() && other.is_sparse() && self.sizes() == other.sizes() &&
                      self.sparse_dim() == other.sparse_dim() && self._nnz() > 0 &&
                      other._nnz() > 0 && self.device() == other.device();
  const bool is_exact = at::isFloatingType(self.scalar_type()) || self.is_complex() ||
                        arguments[2].toScalar().isIntegral(/*includeBool=*/true);
  return is_sum && is_exact && self.scalar_type() != at::kBool ? kCompute : nullptr;
}

void put_sparse_sums(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "add", "Tensor", &choose_add<&add<WrittenArgument::kNothing, 1>>,
             c10::DispatchKey::SparseCPU);
  put_choice(aten, "add_", "Tensor", &choose_add<&add<WrittenArgument::kSelf, 1>>,
             c10::DispatchKey::SparseCPU);
  put_choice(aten, "add", "out", &choose_add<&add<WrittenArgument::kOut, 1>>,
             c10::DispatchKey::SparseCPU);
  put_choice(aten, "sub", "Tensor", &choose_add<&add<WrittenArgument::kNothing, -1>>,
             c10::DispatchKey::SparseCPU);
  put_choice(aten, "sub_", "Tensor", &choose_add<&add<WrittenArgument::kSelf, -1>>,
             c10::DispatchKey::SparseCPU);
  put_choice(aten, "sub", "out", &choose_add<&add<WrittenArgument::kOut, -1>>,
             c10::DispatchKey::SparseCPU);
}

const OperatorGroup kSparseSums(&put_sparse_sums, {&KindKeys::sparse});

}  // namespace

}  // namespace torchport::vdev
