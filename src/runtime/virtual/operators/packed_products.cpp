// Implements the product with packed int8 weights as CUDA does (int8mm.cu): in float32 for any size
// and type. The CPU's kernel loads whole aligned vectors, and ends the process where the rows are
// not a multiple of them.
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// _weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor
void int8_product(torch::jit::Stack* stack) {
  const std::vector<c10::IValue> arguments = torch::jit::pop(*stack, 3);
  const Tensor x = arguments[0].toTensor();
  const Tensor weight = arguments[1].toTensor().to(at::kFloat);
  const Tensor scales = arguments[2].toTensor().to(at::kFloat);
  stack->emplace_back(at::mm(x.to(at::kFloat), weight.t()).mul_(scales).to(x.scalar_type()));
}

Compute choose_int8_product(const c10::IValue* arguments) {
  const Tensor& x = arguments[0].toTensor();
  const Tensor& weight = arguments[1].toTensor();
  const Tensor& scales = arguments[2].toTensor();
  TORCH_CHECK(x.dim() == 2, "x must be 2D");
  TORCH_CHECK(weight.dim() == 2, "w must be 2D");
  TORCH_CHECK(scales.dim() == 1, "scale must be 1D");
  TORCH_CHECK(x.size(1) == weight.size(1), "K dimension mismatch: x.size(1) != w.size(1)");
  TORCH_CHECK(weight.size(0) == scales.size(0), "Output dim mismatch: w.size(0) != scale.size(0)");
  // The kernel takes the weight's bytes.
  TORCH_CHECK(weight.scalar_type() == at::kChar, "expected scalar type Char but found ",
              weight.scalar_type());
  return &int8_product;
}

void put_packed_products(torch::Library& aten) {
  if (Runtime::get().spec().kind != "cuda") return;
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_weight_int8pack_mm", "");
  aten.impl("_weight_int8pack_mm",
            torch::CppFunction::makeFromBoxedFunctor(std::make_unique<AliasKernel>(
                op, c10::DispatchKey::CPU, TypeRules{}, &choose_int8_product)));
}

const OperatorGroup kPackedProducts(&put_packed_products);

}  // namespace

}  // namespace torchport::vdev
