// Returns from batch normalisation what CUDA's own kernel does (batch_norm_cuda in
// aten/src/ATen/native/cuda/Normalization.cu): an output like the input, also where its last
// dimensions are exchanged, which the CPU's kernel gives a memory format; and in evaluation the
// mean and the inverse deviation that it used, of which the CPU's kernel returns nothing.
#include <array>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// The first argument is the input, and the first of three results the output.
constexpr std::array<c10::OperatorName (*)(), 3> kNorms = {
    [] { return c10::OperatorName("aten::native_batch_norm", ""); },
    [] { return c10::OperatorName("aten::_native_batch_norm_legit", ""); },
    [] { return c10::OperatorName("aten::_native_batch_norm_legit", "no_stats"); },
};

// The input is dense, and in none of the memory formats.
bool is_in_other_order(const Tensor& input) {
  return input.is_non_overlapping_and_dense() &&
         !input.is_contiguous(input.suggest_memory_format());
}

// The arguments of an operator by their names.
class NamedArguments {
 public:
  NamedArguments(const c10::OperatorHandle& op, const c10::IValue* arguments)
      : op_(op), arguments_(arguments) {}
  // Null if the operator has no such argument.
  [[nodiscard]] const c10::IValue* find(const char* name) const {
    const auto index = op_.schema().argumentIndexWithName(name);
    return index ? arguments_ + *index : nullptr;
  }

 private:
  const c10::OperatorHandle& op_;
  const c10::IValue* arguments_;
};

template <std::size_t kNorm>
const c10::OperatorHandle& norm_operator() {
  static const c10::OperatorHandle kOp = *c10::Dispatcher::singleton().findSchema(kNorms[kNorm]());
  return kOp;
}

// Whether the call normalises with the statistics that it is given.
bool evaluates(const NamedArguments& arguments) {
  const c10::IValue* const mean = arguments.find("running_mean");
  return mean != nullptr && mean->isTensor() && !arguments.find("training")->toBool();
}

template <std::size_t kNorm>
void norm_as_cuda(torch::jit::Stack* stack) {
  const c10::OperatorHandle& op = norm_operator<kNorm>();
  const std::size_t first = stack->size() - op.schema().arguments().size();
  const NamedArguments arguments(op, stack->data() + first);
  const Tensor input = (*stack)[first].toTensor();
  Tensor mean;
  Tensor inverse;
  if (evaluates(arguments)) {
    mean = arguments.find("running_mean")->toTensor().clone();
    inverse =
        (arguments.find("running_var")->toTensor() + arguments.find("eps")->toDouble()).rsqrt_();
  }
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  c10::IValue* const results = stack->data() + stack->size() - op.schema().returns().size();
  if (is_in_other_order(input)) results[0] = at::empty_like(input).copy_(results[0].toTensor());
  if (!mean.defined()) return;
  results[1] = mean;
  results[2] = inverse;
}

template <std::size_t kNorm>
Compute choose_norm(const c10::IValue* arguments) {
  const NamedArguments named(norm_operator<kNorm>(), arguments);
  return is_in_other_order(arguments[0].toTensor()) || evaluates(named) ? &norm_as_cuda<kNorm>
                                                                        : nullptr;
}

void put_native_batch_norm(torch::Library& aten) {
  put_choice(aten, "native_batch_norm", "", &choose_norm<0>);
  put_choice(aten, "_native_batch_norm_legit", "", &choose_norm<1>);
  put_choice(aten, "_native_batch_norm_legit", "no_stats", &choose_norm<2>);
}

const OperatorGroup kNativeBatchNorm(&put_native_batch_norm);

}  // namespace

}  // namespace torchport::vdev
