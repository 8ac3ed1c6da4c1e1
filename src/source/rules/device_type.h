// The device type ("cuda", "mps", "cpu") as an expression, for autocast and
// gradient scalers: they take a string and refuse a torch.device.
#pragma once

#include <string>

#include "source/edit/edit.h"
#include "source/rules/rule.h"

namespace torchport::rules {

struct DeviceTypeRef {
  std::string text;  // `device.type`, `torch.device(args.device).type`
  edit::Needs needs;
  bool certain = false;  // the accelerator, where there is one
  bool usable = true;    // false: nothing could be written here
};

[[nodiscard]] DeviceTypeRef device_type_at(const PythonContext& context, Node node);

// Inside of a decorator: evaluated where the function is defined, not when it is called.
[[nodiscard]] bool in_decorator(Node node);

}  // namespace torchport::rules
