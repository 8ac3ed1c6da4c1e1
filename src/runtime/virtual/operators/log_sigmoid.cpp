// Implements logsigmoid as CUDA does (Activation.cpp): nothing but the input is saved for its
// gradient, where the CPU saves a second tensor of its size.
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log_sigmoid_backward.h>
#include <ATen/ops/log_sigmoid_forward.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using torch::jit::Stack;

// log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)
void log_sigmoid_pair(Stack* stack) {
  const Tensor self = torch::jit::pop(*stack).toTensor();
  stack->emplace_back(std::get<0>(at::log_sigmoid_forward(self)));
  stack->emplace_back(at::empty({0}, self.options()));
}

// log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor
void log_sigmoid_gradient(Stack* stack) {
  const std::vector<c10::IValue> arguments = torch::jit::pop(*stack, 3);
  const Tensor self = arguments[1].toTensor();
  stack->emplace_back(
      at::log_sigmoid_backward(arguments[0].toTensor(), self, at::exp(-at::abs(self))));
}

Compute choose_log_sigmoid(const c10::IValue*) {
  return &log_sigmoid_pair;
}

// A program may pass what it has from elsewhere.
Compute choose_log_sigmoid_gradient(const c10::IValue* arguments) {
  return arguments[2].toTensor().numel() == 0 ? &log_sigmoid_gradient : nullptr;
}

void put_log_sigmoid(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "log_sigmoid_forward", "", &choose_log_sigmoid);
  put_choice(aten, "log_sigmoid_backward", "", &choose_log_sigmoid_gradient);
}

const OperatorGroup kLogSigmoid(&put_log_sigmoid);

}  // namespace

}  // namespace torchport::vdev
