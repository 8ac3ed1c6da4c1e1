// Implements what cuSPARSE computes of sparse tensors and the CPU's libraries do not, or do not
// safely: triangular systems.
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/ops/tensor.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/floating_types.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace at::native {
// Its header is not installed with torch.
using FlattenIndices = Tensor (*)(const Tensor& indices, IntArrayRef size);
DECLARE_DISPATCH(FlattenIndices, flatten_indices_stub)
}  // namespace at::native

namespace torchport::vdev {

namespace {

using at::Tensor;

// --- Triangular systems

// Forward or backward substitution in place, in rows of `columns` right-hand sides.
template <class T>
void substitute(const Tensor& a, bool upper, bool unit, T* x, std::int64_t columns) {
  const auto rows = a.crow_indices().to(at::kLong).contiguous();
  const auto places = a.col_indices().to(at::kLong).contiguous();
  const auto values = a.values().contiguous();
  const auto* const begin = rows.const_data_ptr<std::int64_t>();
  const auto* const column = places.const_data_ptr<std::int64_t>();
  const auto* const value = values.const_data_ptr<T>();
  const std::int64_t count = a.size(0);
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int64_t i = upper ? count - 1 - step : step;
    T* const row = x + i * columns;
    T diagonal(0);
    for (std::int64_t e = begin[i]; e < begin[i + 1]; ++e) {
      const std::int64_t j = column[e];
      if (j == i) diagonal += value[e];
      if (j == i || (j > i) != upper) continue;
      for (std::int64_t c = 0; c < columns; ++c) row[c] -= value[e] * x[j * columns + c];
    }
    for (std::int64_t c = 0; c < columns && !unit; ++c) row[c] /= diagonal;
  }
}

// Rows of a matrix of any compressed layout, or of its transpose.
Tensor rows_of(const Tensor& a, bool transposed) {
  const Tensor plain = a.layout() == at::kSparseBsr || a.layout() == at::kSparseBsc
                           ? a.to_dense().to_sparse_csr()
                           : a;
  return transposed ? plain.transpose(0, 1).to_sparse_csr() : plain.to_sparse_csr();
}

// triangular_solve.X(Tensor self, Tensor A, bool upper=True, bool transpose=False,
//                    bool unitriangular=False, *, Tensor(a!) X, Tensor(b!) M)
void solve(torch::jit::Stack* stack) {
  const std::vector<c10::IValue> arguments = torch::jit::pop(*stack, 7);
  const Tensor b = arguments[0].toTensor();
  const Tensor a = arguments[1].toTensor();
  const bool transposed = arguments[3].toBool();
  const Tensor out = arguments[5].toTensor();
  stack->emplace_back(out);
  stack->emplace_back(arguments[6]);
  if (out.numel() == 0) return;
  if (a._nnz() == 0) {  // as in SparseBlasImpl.cpp
    out.fill_(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const Tensor x = b.clone(at::MemoryFormat::Contiguous);
  const Tensor rows = rows_of(a, transposed);
  for_floating_or_complex(
      x.scalar_type(), "triangular_solve_out_sparse_csr_cuda_impl", [&](auto zero) {
        using Number = decltype(zero);
        substitute(rows, arguments[2].toBool() != transposed, arguments[4].toBool(),
                   x.data_ptr<Number>(), x.dim() == 1 ? 1 : x.size(-1));
      });
  out.copy_(x);
}

// The CPU's library ends the process for some matrices without a full diagonal.
Compute choose_solve(const c10::IValue* arguments) {
  const Tensor& a = arguments[1].toTensor();
  const Tensor& b = arguments[0].toTensor();
  const bool is_usual = a.dim() == 2 && a.size(0) == a.size(1) && b.dim() <= 2 && b.dim() > 0 &&
                        b.size(0) == a.size(0) && b.scalar_type() == a.scalar_type();
  return is_usual && a.layout() != at::kStrided ? &solve : nullptr;
}

void put_triangular(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "triangular_solve", "X", &choose_solve, c10::DispatchKey::SparseCsrCPU);
}

const OperatorGroup kTriangular(&put_triangular, {&KindKeys::sparse_csr});

// --- The checks of a COO tensor that is said to be coalesced

// The place of each element in a dense tensor of this size. PyTorch's check of the indices calls
// this by the tensor's device, and not as an operator.
Tensor flattened(const Tensor& indices, at::IntArrayRef size) {
  std::vector<std::int64_t> strides(size.size());
  std::int64_t stride = 1;
  for (std::size_t i = size.size(); i > 0; stride *= size[--i]) strides[i - 1] = stride;
  const Tensor weights = at::tensor(strides, at::TensorOptions().dtype(at::kLong));
  return indices.mul(weights.to(indices.device()).unsqueeze(1)).sum(0);
}

void put_flattened(torch::Library&) {
  if (Runtime::get().kind().dense == c10::DispatchKey::CUDA)
    at::native::flatten_indices_stub.set_cuda_dispatch_ptr(&flattened);
}

const OperatorGroup kFlattened(&put_flattened);

}  // namespace

}  // namespace torchport::vdev
