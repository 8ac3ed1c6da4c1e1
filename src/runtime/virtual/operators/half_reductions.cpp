// Reduces float16 and bfloat16 to float32 as CUDA does: its kernels read the half type and convert
// each element (make_reduction in aten/src/ATen/native/ReduceOpsUtils.h, gpu_lowp_to_f32). The
// CPU's convert the whole tensor before, and divide a sum for a mean, by operators that a profile
// would show.
#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/type_checks.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;
using c10::IValue;
using torch::jit::Stack;

template <Text kName, Text kOverload>
const c10::OperatorHandle& reduction() {
  static const auto kOp =
      c10::Dispatcher::singleton().findSchemaOrThrow(kName.text, kOverload.text);
  return kOp;
}

template <Text kName, Text kOverload>
void reduce_in_float(Stack* stack) {
  const c10::OperatorHandle& op = reduction<kName, kOverload>();
  IValue& self = (*stack)[stack->size() - op.schema().arguments().size()];
  const at::RecordFunctionGuard unseen(/*is_enabled=*/false);
  self = self.toTensor().to(ScalarType::Float);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

// `kType` is the argument that names the type of the result; the one after it is `out`, if
// `kHasOut`.
template <Text kName, Text kOverload, std::size_t kType, bool kHasOut>
Compute choose_reduction(const IValue* arguments) {
  const ScalarType from = arguments[0].toTensor().scalar_type();
  if (from != ScalarType::Half && from != ScalarType::BFloat16) return nullptr;
  ScalarType to = from;
  if constexpr (kHasOut) to = arguments[kType + 1].toTensor().scalar_type();
  if (!arguments[kType].isNone()) to = static_cast<ScalarType>(arguments[kType].toInt());
  return to == ScalarType::Float ? &reduce_in_float<kName, kOverload> : nullptr;
}

template <Text kName, Text kOverload, std::size_t kType, bool kHasOut = false>
void put_reduction(torch::Library& aten) {
  constexpr std::size_t kPrefix = sizeof("aten::") - 1;
  put_choice(aten, kName.text + kPrefix, kOverload.text,
             &choose_reduction<kName, kOverload, kType, kHasOut>);
}

void put_half_reductions(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_reduction<"aten::linalg_vector_norm", "", 4>(aten);
  put_reduction<"aten::linalg_vector_norm", "out", 4, true>(aten);
  put_reduction<"aten::sum", "dim_IntList", 3>(aten);
  put_reduction<"aten::sum", "IntList_out", 3, true>(aten);
  put_reduction<"aten::mean", "dim", 3>(aten);
  put_reduction<"aten::mean", "out", 3, true>(aten);
  put_reduction<"aten::prod", "", 1>(aten);
  put_reduction<"aten::prod", "dim_int", 3>(aten);
  put_reduction<"aten::prod", "int_out", 3, true>(aten);
}

const OperatorGroup kHalfReductions(&put_half_reductions);

}  // namespace

}  // namespace torchport::vdev
