// The kernel that most operators have on virtual devices: the CPU's, on aliases of the arguments.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>

#include "runtime/virtual/core/device_check.h"
#include "runtime/virtual/watch/determinism_and_sync.h"

namespace torchport::vdev {

// One per operator and dispatch key; const after it is made, so that any thread may call it.
class AliasKernel final : public c10::OperatorKernel {
 public:
  // `cpu`: the key whose kernel does the work.
  AliasKernel(const c10::OperatorHandle& op, c10::DispatchKey cpu);

  // Raises what the CPU's kernel raises, what a real build raises for tensors on several devices,
  // and c10::OutOfMemoryError where the results do not fit on the device.
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const;

 private:
  // An argument that can hold something of a device's; the others are passed on unseen.
  struct Argument {
    std::uint32_t index;
    bool written;  // the operator writes to it
  };

  c10::DispatchKeySet cpu_;
  DeviceCheck check_;
  DeterminismAndSync determinism_and_sync_;
  std::vector<Argument> arguments_;
  int generator_ = -1;       // the argument that is a generator
  bool draws_ = false;       // random numbers, without such an argument
  bool each_apart_ = false;  // a list to a list: each result stays on the device of its element
};

}  // namespace torchport::vdev
