// Refuses what cuSPARSE, and CUDA's kernels of sparse tensors, do not compute and the CPU does.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/type_checks.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;

// mm(Tensor self, Tensor mat2) and addmm(Tensor self, Tensor mat1, Tensor mat2, ...) of coordinates
// and a dense matrix (s_addmm_out_csr_sparse_dense_cuda_worker in SparseBlasLegacy.cpp).
template <std::size_t kFirst>
Compute check_dense_product(const IValue* arguments) {
  const Tensor& sparse = arguments[kFirst].toTensor();
  const Tensor& dense = arguments[kFirst + 1].toTensor();
  if (sparse.is_sparse() && !dense.is_sparse() && sparse._nnz() > 0 &&
      holds("ibwhfx", sparse.scalar_type()))
    refuse_type("addmm_sparse_cuda", sparse.scalar_type());
  return nullptr;
}

bool is_csr(const Tensor& tensor) {
  return tensor.layout() == at::kSparseCsr;
}

// The same of two sparse matrices (spgemm in SparseBlasImpl.cpp).
template <std::size_t kFirst>
Compute check_sparse_product(const IValue* arguments) {
  const Tensor& a = arguments[kFirst].toTensor();
  const Tensor& b = arguments[kFirst + 1].toTensor();
  TORCH_CHECK(
      !is_csr(a) || !is_csr(b) || a.scalar_type() == b.scalar_type() || a._nnz() == 0 ||
          b._nnz() == 0,
      "CUDA error: operation not supported when calling `cusparseSpGEMM_workEstimation( handle, "
      "opA, opB, &alpha_, descA.descriptor(), descB.descriptor(), &beta_, descC.descriptor(), "
      "compute_type, CUSPARSE_SPGEMM_DEFAULT, spgemm_desc.descriptor(), &buffer_size1, nullptr)`");
  return nullptr;
}

// add(Tensor self, Tensor other, ...) of a dense tensor, which a number is, too
// (add_out_dense_sparse_compressed_cuda in SparseCsrTensorMath.cu).
Compute check_sum(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& other = arguments[1].toTensor();
  if (self.layout() != at::kStrided && other.layout() != at::kStrided) return nullptr;
  const Tensor& dense = self.layout() == at::kStrided ? self : other;
  const Tensor& sparse = self.layout() == at::kStrided ? other : self;
  TORCH_CHECK(is_virtual(dense.device()),
              "dense.is_cuda() INTERNAL ASSERT FAILED at "
              "\"/pytorch/aten/src/ATen/native/sparse/cuda/SparseCsrTensorMath.cu\":147, please "
              "report a bug to PyTorch. ");
  TORCH_CHECK(dense.sizes() == sparse.sizes(),
              "add: expected 'self' and 'other' to have same size, but self has size ",
              dense.sizes(), " while other has size ", sparse.sizes(),
              " (FYI: dense-sparse addition does not currently support broadcasting)");
  return nullptr;
}

// _to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None): the CPU would write
// behind the result. What CUDA's kernel asserts is in errors/asserts_of_sparse.cpp.
void to_dense(torch::jit::Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, 3);
  const Tensor self = arguments[0].toTensor();
  for (std::int64_t dim = 0; self.is_sparse() && dim < self.sparse_dim(); ++dim) {
    if (self._nnz() == 0) break;
    const Tensor index = self._indices()[dim];
    TORCH_CHECK_INDEX(
        index.min().item<std::int64_t>() >= 0 && index.max().item<std::int64_t>() < self.size(dim),
        "index is out of bounds for dimension ", dim, " with size ", self.size(dim));
  }
  // The CPU adds up no half types.
  const at::ScalarType type = self.scalar_type();
  const bool is_wider = at::isReducedFloatingType(type) || type == at::kComplexHalf;
  const at::ScalarType wide = self.is_complex() ? at::kComplexFloat : at::kFloat;
  const Tensor summed =
      is_wider ? at::_sparse_coo_tensor_unsafe(self._indices(), self._values().to(wide),
                                               self.sizes(), self.options().dtype(wide))
               : self;
  const Tensor result =
      summed._to_dense(arguments[1].toOptional<at::ScalarType>(), arguments[2].toOptional<bool>());
  stack->emplace_back(is_wider ? result.to(type) : result);
}

Compute choose_to_dense(const IValue*) {
  return &to_dense;
}

void put_sparse_refusals(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "_to_dense", "", &choose_to_dense, c10::DispatchKey::SparseCPU);
  put_choice(aten, "mm", "", &check_dense_product<0>, c10::DispatchKey::SparseCPU);
  put_choice(aten, "mm", "out", &check_dense_product<0>, c10::DispatchKey::SparseCPU);
  put_choice(aten, "addmm", "", &check_dense_product<1>, c10::DispatchKey::SparseCPU);
  put_choice(aten, "addmm_", "", &check_dense_product<1>, c10::DispatchKey::SparseCPU);
  put_choice(aten, "addmm", "out", &check_dense_product<1>, c10::DispatchKey::SparseCPU);
}

void put_compressed_refusals(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "mm", "", &check_sparse_product<0>, c10::DispatchKey::SparseCsrCPU);
  put_choice(aten, "mm", "out", &check_sparse_product<0>, c10::DispatchKey::SparseCsrCPU);
  put_choice(aten, "addmm", "", &check_sparse_product<1>, c10::DispatchKey::SparseCsrCPU);
  put_choice(aten, "addmm", "out", &check_sparse_product<1>, c10::DispatchKey::SparseCsrCPU);
  put_choice(aten, "add", "Tensor", &check_sum, c10::DispatchKey::SparseCsrCPU);
  put_choice(aten, "add_", "Tensor", &check_sum, c10::DispatchKey::SparseCsrCPU);
  put_choice(aten, "add", "out", &check_sum, c10::DispatchKey::SparseCsrCPU);
}

const OperatorGroup kSparseRefusals(&put_sparse_refusals, {&KindKeys::sparse});
const OperatorGroup kCompressedRefusals(&put_compressed_refusals, {&KindKeys::sparse_csr});

}  // namespace

}  // namespace torchport::vdev
