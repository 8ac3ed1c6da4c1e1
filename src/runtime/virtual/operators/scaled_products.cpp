// Implements the products of float8 into float8 as cuBLAS does, which saturates them: what is too
// large becomes the largest number of the type, where the CPU's kernel leaves NaN or infinity.
#include <limits>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_scaled_mm.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e5m2.h>
#include <torch/library.h>

#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/computes_as_cuda.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

constexpr std::size_t kScaledArguments = 8;

at::ScalarType type_of_product(const IValue* arguments) {
  return arguments[6].isNone() ? arguments[0].toTensor().scalar_type()
                               : arguments[6].toScalarType();
}

// _scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias, Tensor?
// scale_result, ScalarType? out_dtype, bool use_fast_accum)
void saturated_product(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kScaledArguments);
  const at::ScalarType type = type_of_product(arguments.data());
  Tensor product =
      at::_scaled_mm(arguments[0].toTensor(), arguments[1].toTensor(), arguments[2].toTensor(),
                     arguments[3].toTensor(), {}, {}, at::kFloat, arguments[7].toBool());
  if (arguments[4].isTensor()) product.add_(arguments[4].toTensor());
  const float largest = type == at::kFloat8_e5m2
                            ? static_cast<float>(std::numeric_limits<c10::Float8_e5m2>::max())
                            : static_cast<float>(std::numeric_limits<c10::Float8_e4m3fn>::max());
  stack->emplace_back(product.clamp_(-largest, largest).to(type));
}

Compute choose_saturated(const IValue* arguments) {
  const at::ScalarType type = type_of_product(arguments);
  const bool is_small = type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2;
  return is_small && !arguments[5].isTensor() ? &saturated_product : nullptr;
}

void put_scaled_products(torch::Library& aten) {
  if (!computes_as_cuda()) return;
  put_choice(aten, "_scaled_mm", "", &choose_saturated);
}

const OperatorGroup kScaledProducts(&put_scaled_products);

}  // namespace

}  // namespace torchport::vdev
