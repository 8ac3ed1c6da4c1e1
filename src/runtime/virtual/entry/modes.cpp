// Hides the operators by which the torch._C shim asks the runtime from modes of Python.
//
// A real build answers such questions without an operator. A mode of a program (TorchDispatchMode)
// is not to see them, and cannot: PyTorch's sanitizer for streams, for example, asks for the
// current stream in its mode, and torch.cuda begins to use the devices under a lock.
#include <algorithm>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <c10/macros/Export.h>

#include "runtime/virtual/core/typed_kernel.h"

namespace torchport::vdev {

namespace {

bool has_tensors(const std::vector<c10::Argument>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
    return argument.type()->str().find("Tensor") != std::string::npos;
  });
}

}  // namespace

}  // namespace torchport::vdev

extern "C" {

// Called once, after the library is loaded, when all of its operators are there. Operators that
// take or give tensors compute something, which modes may see. Not thread safe.
C10_EXPORT void torchport_hide_questions() {
  using c10::Dispatcher;
  for (const c10::OperatorName& name : Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("torchport::")) continue;
    const auto op = Dispatcher::singleton().findSchema(name);
    if (!op || torchport::vdev::has_tensors(op->schema().arguments()) ||
        torchport::vdev::has_tensors(op->schema().returns()))
      continue;
    torchport::vdev::put(*op, c10::DispatchKey::Python, c10::KernelFunction::makeFallthrough());
  }
}

}  // extern "C"
