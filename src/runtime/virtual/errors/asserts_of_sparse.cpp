// What the kernels of sparse tensors assert of indices: aten/src/ATen/native/sparse/
// ValidateCompressedIndicesCommon.h, and the index_add_ that makes coordinates dense
// (add_out_dense_sparse_cuda in sparse/cuda/SparseCUDATensorMath.cu).
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "runtime/virtual/errors/bad_values.h"
#include "runtime/virtual/errors/kernel_assertions.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using AssertedOfSparse = std::optional<FailedAssertion>;

// The kernel has a thread for each row; here the first one speaks. It is asked after the host has
// raised its own error, which names what is wrong.
AssertedOfSparse of_compressed_indices(const CallArguments& call) {
  return FailedAssertion{
      .file = "/pytorch/aten/src/ATen/native/sparse/ValidateCompressedIndicesCommon.h",
      .line = 44,
      .kernel = "_assert",
      .condition = "cond && message",
      .threads = all_threads(1, 1),
      .reason = fmt::format("the compressed or plain indices do not fit {} rows, {} columns and {} "
                            "elements; torch.sparse.check_sparse_tensor_invariants on the CPU "
                            "says which",
                            call.integer("cdim"), call.integer("dim"), call.integer("nnz"))};
}

std::vector<c10::IValue> no_results(const CallArguments&) {
  return {};
}

AssertedOfSparse of_to_dense(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  for (std::int64_t dim = 0; dim < self.sparse_dim(); ++dim) {
    const Tensor index = self._indices()[dim];
    const BadIndices bad(index, 0, self.size(dim));
    if (bad.empty()) continue;
    return FailedAssertion{
        .file = "Indexing.cu",
        .line = 0,
        .kernel = "indexFuncSmallIndex",
        .condition = "dstIndex < dstAddDimSize",
        .threads = all_threads(1, 1),
        .reason = bad.text("index", "the indices",
                           fmt::format("dimension {} of size {}", dim, self.size(dim)))};
  }
  return {};
}

std::vector<c10::IValue> dense_zeros(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  return {at::zeros(self.sizes(), self.options().layout(at::kStrided))};
}

const KernelAssertion kCompressedIndices("aten::_validate_compressed_sparse_indices",
                                         &of_compressed_indices, &no_results);
const KernelAssertion kToDense("aten::_to_dense", &of_to_dense, &dense_zeros);

}  // namespace

}  // namespace torchport::vdev
