// The kernel that most operators have on virtual devices: the CPU's, on aliases of the arguments.
#pragma once

#include <cstdint>

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>

namespace torchport::vdev {

// One per operator and dispatch key; const after it is made, so that any thread may call it.
class AliasKernel final : public c10::OperatorKernel {
 public:
  // `cpu`: the key whose kernel does the work.
  AliasKernel(const c10::FunctionSchema& schema, c10::DispatchKey cpu);

  // Raises what the CPU's kernel raises, and c10::OutOfMemoryError where the results do not fit on
  // the device.
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const;

 private:
  c10::DispatchKeySet cpu_;
  std::uint64_t written_ = 0;  // a bit for each argument that the operator writes to
  int generator_ = -1;         // the argument that is a generator
};

}  // namespace torchport::vdev
