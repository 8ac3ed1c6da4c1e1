// Lays out the results of batch normalisation as CUDA's own kernel does: like the input, also where
// its last dimensions are exchanged (batch_norm_cuda in aten/src/ATen/native/cuda/Normalization.cu
// takes empty_like(input)). The CPU's kernel knows the memory formats only.
#include <array>

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

template <std::size_t kNorm>
void norm_like_input(torch::jit::Stack* stack) {
  static const c10::OperatorHandle kOp =
      *c10::Dispatcher::singleton().findSchema(kNorms[kNorm]());
  const Tensor input = (*stack)[stack->size() - kOp.schema().arguments().size()].toTensor();
  kOp.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  c10::IValue& output = (*stack)[stack->size() - kOp.schema().returns().size()];
  output = at::empty_like(input).copy_(output.toTensor());
}

// The input is dense, and in none of the memory formats.
template <std::size_t kNorm>
Compute choose_norm(const c10::IValue* arguments) {
  const Tensor& input = arguments[0].toTensor();
  return input.is_non_overlapping_and_dense() &&
                 !input.is_contiguous(input.suggest_memory_format())
             ? &norm_like_input<kNorm>
             : nullptr;
}

void put_batch_norm_layout(torch::Library& aten) {
  put_choice(aten, "native_batch_norm", "", &choose_norm<0>);
  put_choice(aten, "_native_batch_norm_legit", "", &choose_norm<1>);
  put_choice(aten, "_native_batch_norm_legit", "no_stats", &choose_norm<2>);
}

const OperatorGroup kBatchNormLayout(&put_batch_norm_layout);

}  // namespace

}  // namespace torchport::vdev
