// Implements roll over several dimensions as CUDA does (TensorTransformations.cu): one after the
// other, each with a result of its own, which a program sees in the peak of memory.
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/roll.h>
#include <torch/library.h>

#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/type_rules.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// roll(Tensor self, SymInt[1] shifts, int[1] dims=[])
class Roll final : public c10::OperatorKernel {
 public:
  explicit Roll(const c10::OperatorHandle& op)
      : kernel_(op, c10::DispatchKey::CPU,
                type_rules_of(op.operator_name(), c10::DispatchKey::CPU)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    const std::size_t first = stack->size() - 3;
    const Tensor self = (*stack)[first].toTensor();
    const std::vector<std::int64_t> shifts = (*stack)[first + 1].toIntVector();
    const std::vector<std::int64_t> dims = (*stack)[first + 2].toIntVector();
    const bool is_flat = dims.empty() && shifts.size() == 1;
    // What is refused is refused in the words of the CPU's kernel, which are the same.
    if (!is_flat && (dims.size() < 2 || shifts.size() != dims.size())) {
      kernel_(op, keys, stack);
      return;
    }
    stack->resize(first);
    stack->emplace_back(is_flat ? rolled_flat(self, shifts[0]) : rolled(self, shifts, dims));
  }

 private:
  static Tensor rolled_flat(const Tensor& self, std::int64_t shift) {
    return at::roll(self.contiguous().view(-1), shift, 0).view(self.sizes());
  }

  static Tensor rolled(const Tensor& self, const std::vector<std::int64_t>& shifts,
                       const std::vector<std::int64_t>& dims) {
    const Tensor first = at::roll(self, shifts[0], dims[0]);
    return at::roll(first, at::IntArrayRef(shifts).slice(1), at::IntArrayRef(dims).slice(1));
  }

  AliasKernel kernel_;
};

void put_roll(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::roll", "");
  aten.impl("roll", torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Roll>(op)));
}

const OperatorGroup kRoll(&put_roll);

}  // namespace

}  // namespace torchport::vdev
