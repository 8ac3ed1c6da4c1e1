// What an operator's call finds of the state of its devices before the kernel runs: devices that
// are lost, streams that are captured, other streams' work, and tensors without memory.
#include <vector>

#include <ATen/core/ivalue.h>

#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/errors/late_results.h"
#include "runtime/virtual/errors/unallocated.h"

namespace torchport::vdev {

namespace {

using c10::IValue;
using torch::jit::Stack;

}  // namespace

void AliasKernel::check_memory(const c10::OperatorHandle& op, const Aliases& aliases,
                               const Stack* stack, std::size_t first) const {
  if (!uses_memory()) return;
  if (stack != nullptr && op.schema().is_mutable()) {
    // An out= argument of another shape gets other memory.
    const auto from = stack->begin() + static_cast<std::ptrdiff_t>(first);
    static_cast<void>(late_results(op, std::vector<IValue>(from, stack->end())));
  }
  const at::Tensor tensor = aliases.unallocated();
  if (tensor.defined()) raise_unallocated(tensor, &op);
}

void AliasKernel::check_devices(const IValue* arguments) const {
  const Asks asks = determinism_and_sync_.waits_for(arguments) ? Asks::kToWait : Asks::kToStart;
  if (!starts_kernel_ && asks == Asks::kToStart) return;
  bool on_device = false;
  const auto check = [&](c10::Device device) {
    if (!is_virtual(device)) return;
    on_device = true;
    check_device(device.has_index() ? device.index() : current_device(), asks);
  };
  for (const Argument& argument : arguments_) {
    const IValue& value = arguments[argument.index];
    if (value.isDevice()) check(value.toDevice());
    observer::each_tensor(value, [&](const at::Tensor& tensor) { check(tensor.device()); });
  }
  if (!on_device) check_device(current_device(), asks);
}

void AliasKernel::check_capture(const IValue* arguments) const {
  c10::DeviceIndex device = -1;
  for (const Argument& argument : arguments_) {
    observer::each_tensor(arguments[argument.index], [&](const at::Tensor& tensor) {
      if (device < 0 && is_virtual(tensor.device())) device = tensor.device().index();
    });
  }
  if (device < 0) device = current_device();
  check_start_in_capture(device, current_stream(device));
}

void AliasKernel::note_accesses(const IValue* arguments, late::Call& call) const {
  for (const Argument& argument : arguments_) {
    observer::each_tensor(arguments[argument.index], [&](const at::Tensor& tensor) {
      if (is_written(argument, arguments)) {
        call.writes(tensor);
      } else {
        call.reads(tensor);
      }
    });
  }
  call.start();
  if (host_waits_ || determinism_and_sync_.waits_for(arguments)) call.host_waits();
}

}  // namespace torchport::vdev
