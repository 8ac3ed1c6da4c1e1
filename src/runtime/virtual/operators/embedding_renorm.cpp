// Implements embedding_renorm_ where errors of kernels are late: CUDA's kernel asserts nothing of
// its indices (renorm_kernel in aten/src/ATen/native/cuda/Embedding.cu) and reads and writes what
// lies there; it is the lookup after it that fails. The rows that there are get their norm here.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/embedding_renorm.h>
#include <torch/library.h>

#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

// embedding_renorm_(Tensor self, Tensor indices, float max_norm, float norm_type)
void renorm_rows_in_range(torch::jit::Stack* stack) {
  const double norm = torch::jit::pop(*stack).toDouble();
  const double most = torch::jit::pop(*stack).toDouble();
  at::Tensor indices = torch::jit::pop(*stack).toTensor();
  at::Tensor self = torch::jit::pop(*stack).toTensor();
  if (self.dim() == 2 && at::isIntegralType(indices.scalar_type(), false)) {
    const at::Tensor inside = indices.ge(0).logical_and_(indices.lt(self.size(0)));
    if (!inside.all().item<bool>()) indices = indices.masked_select(inside);
  }
  stack->emplace_back(at::embedding_renorm_(self, indices, most, norm));
}

Compute choose_renorm(const c10::IValue* /*arguments*/) {
  return errors_are_late() ? &renorm_rows_in_range : nullptr;
}

void put_renorm(torch::Library& aten) {
  put_choice(aten, "embedding_renorm_", "", &choose_renorm);
}

const OperatorGroup kRenorm(&put_renorm);

}  // namespace

}  // namespace torchport::vdev
