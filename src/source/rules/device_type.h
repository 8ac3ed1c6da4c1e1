// Writes the device type ("cuda", "mps", "cpu") as an expression. autocast and gradient scalers
// take a string and refuse a torch.device, so the device in scope does not fit as it is.
#pragma once

#include <string>

#include "source/edit/edit.h"
#include "source/rules/rule.h"

namespace torchport::rules {

struct DeviceTypeRef {
  std::string text;  // `device.type`, `torch.device(args.device).type`
  edit::Needs needs;
  bool certain = false;  // it is the accelerator if there is one
  bool usable = true;    // false: no expression can be written here
};

[[nodiscard]] DeviceTypeRef device_type_at(const PythonContext& context, Node node);

// Whether an autocast for any device, with this `enabled` (invalid if it is not given), may do
// something where one for CUDA does nothing: compute in bfloat16 on the CPU, or raise, because
// autocast does not know the GPU of a Mac before torch 2.5.
[[nodiscard]] bool autocast_acts_elsewhere(const PythonContext& context, Node enabled);

// Whether the node is in a decorator, which is evaluated where the function is defined and not when
// it is called.
[[nodiscard]] bool in_decorator(Node node);

}  // namespace torchport::rules
