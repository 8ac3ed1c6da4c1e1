// Gives operators that have nothing to compute CUDA's results for types that their kernels refuse:
// it ends before it looks at the type.
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_adaptive_avg_pool3d.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

// _adaptive_avg_pool3d(Tensor self, SymInt[3] output_size), AdaptiveAveragePooling3d.cu.
void pool_nothing(Stack* stack) {
  constexpr std::size_t kArguments = 2;
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor self = arguments[0].toTensor();
  const Tensor pooled = at::_adaptive_avg_pool3d(self.to(at::kFloat), arguments[1].toIntVector());
  stack->emplace_back(pooled.to(self.scalar_type()));
}

Compute choose_pool(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  return self.numel() == 0 && !at::isFloatingType(self.scalar_type()) ? &pool_nothing : nullptr;
}

// _pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist), DistanceKernel.cu.
void no_distances(Stack* stack) {
  constexpr std::size_t kArguments = 4;
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  stack->emplace_back(at::zeros_like(arguments[1].toTensor(), {}, at::MemoryFormat::Contiguous));
}

Compute choose_distances(const IValue* arguments) {
  const bool has_none = arguments[0].toTensor().numel() == 0 ||
                        arguments[1].toTensor().numel() == 0 || arguments[2].toDouble() == 0.0;
  return has_none ? &no_distances : nullptr;
}

void put_nothing_to_compute(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "_adaptive_avg_pool3d", "", &choose_pool);
  put_choice(aten, "_pdist_backward", "", &choose_distances);
}

const OperatorGroup kNothingToCompute(&put_nothing_to_compute);

}  // namespace

}  // namespace torchport::vdev
