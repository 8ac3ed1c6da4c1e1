// Runs with two virtual CUDA devices: see src/runtime/virtual/CMakeLists.txt.
#include "runtime/virtual/operators/operator_groups.h"

#include <ATen/ops/_fused_dropout.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/ones.h>
#include <doctest/doctest.h>

namespace torchport::vdev {

namespace {

int calls = 0;

at::Tensor neg(const at::Tensor& self) {
  ++calls;
  return self.add(1);
}

void put_neg(torch::Library& aten) {
  aten.impl("neg", TORCH_FN(neg));
}

float first_of(const at::Tensor& tensor) {
  return tensor.cpu().flatten()[0].item<float>();
}

}  // namespace

TEST_CASE("groups are put over the CPU's kernels, early and late ones") {
  const at::Tensor x = at::ones({2}, at::TensorOptions().device(at::kCUDA));
  CHECK(x.is_cuda());  // from the group that allocates memory
  // an operator that the CPU does not have
  CHECK(first_of(std::get<0>(at::_fused_dropout(x, 1.0))) == 1);
  CHECK(first_of(at::neg(x)) == -1);
  static const OperatorGroup kLate(&put_neg);
  CHECK(first_of(at::neg(x)) == 2);
  CHECK(calls == 1);
  CHECK(first_of(at::neg(at::ones({2}))) == -1);  // the CPU keeps its own kernel
}

}  // namespace torchport::vdev
