// Implements the softmax of half precision into float, which CUDA does in one kernel and autocast
// asks for; the CPU's kernels refuse it.
#include <memory>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_to_copy.h>
#include <torch/library.h>

#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

c10::OperatorHandle operator_named(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

// (Tensor self, int dim, bool half_to_float, ...): converts the input first if that is asked for.
class Forward final : public c10::OperatorKernel {
 public:
  explicit Forward(const c10::OperatorHandle& op)
      : kernel_(op, c10::DispatchKey::CPU), arguments_(op.schema().arguments().size()) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    const std::size_t first = stack->size() - arguments_;
    c10::IValue& half_to_float = (*stack)[first + 2];
    if (half_to_float.toBool()) {
      (*stack)[first] = at::_to_copy((*stack)[first].toTensor(), at::kFloat);
      half_to_float = false;
    }
    kernel_(op, keys, stack);
  }

 private:
  AliasKernel kernel_;
  std::size_t arguments_;
};

// (Tensor grad_output, Tensor output, int dim, ScalarType input_dtype): converts the result.
class Backward final : public c10::OperatorKernel {
 public:
  explicit Backward(const c10::OperatorHandle& op) : kernel_(op, c10::DispatchKey::CPU) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    const at::ScalarType wanted = stack->back().toScalarType();
    const at::ScalarType given = (*stack)[stack->size() - 4].toTensor().scalar_type();
    stack->back() = given;
    kernel_(op, keys, stack);
    if (wanted != given) stack->back() = at::_to_copy(stack->back().toTensor(), wanted);
  }

 private:
  AliasKernel kernel_;
};

void put_softmax(torch::Library& aten) {
  for (const char* name : {"_softmax", "_log_softmax"}) {
    const std::string full = std::string("aten::") + name;
    for (const char* overload : {"", "out"}) {
      const std::string dotted = *overload == '\0' ? name : std::string(name) + "." + overload;
      aten.impl(dotted.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Forward>(
                                    operator_named(full.c_str(), overload))));
    }
    const std::string backward = std::string(name) + "_backward_data";
    aten.impl(backward.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Backward>(
                                    operator_named((full + "_backward_data").c_str(), ""))));
  }
}

const OperatorGroup kSoftmax(&put_softmax);

}  // namespace

}  // namespace torchport::vdev
