// What the placement rules write in place of a hard-coded device, and where
// such an expression stands.
#pragma once

#include <string>

#include "source/rules/rule.h"
#include "source/semantics/literals.h"

namespace torchport::rules {

// Text to write, and what it needs.
struct DeviceText {
  std::string text;
  edit::Needs needs;
  bool certain = true;  // provably the same where CUDA is
};

// The first node above an expression that does more than choose: passes
// parentheses, `a if c else b`, `a or b`.
[[nodiscard]] Node holder_of(Node expression);

// Where an expression is evaluated: the function for its defaults and decorators, else the node.
[[nodiscard]] Node evaluated_at(Node node);

// Puts parentheses around a conditional expression where `place` needs them.
[[nodiscard]] std::string fitted(Node place, std::string conditional);

// "cuda" if torch.cuda.is_available() else ...: a string, or a torch.device.
[[nodiscard]] DeviceText inline_device(const PythonContext& context, bool as_string);

// `text if torch.cuda.is_available() else ...`: keeps an index that was asked for.
[[nodiscard]] DeviceText guarded_device(const PythonContext& context, std::string_view text,
                                        bool as_string);

// The device as a string, for code that compares or stores it: `DEVICE.type`,
// or a string variable of the module that is defined above.
[[nodiscard]] DeviceText string_device(const PythonContext& context, Node node);

// The device in scope at the node, as torch.device when `as_device`.
[[nodiscard]] DeviceText scope_device(const PythonContext& context, Node node, bool as_device);

// Code that is CUDA's by its own name: a method `cuda`, a class such as
// CUDAPrefetcher, a file cuda.py or one about TensorRT.
[[nodiscard]] bool drives_kernels(const SemanticModel& model, Node node);
[[nodiscard]] bool is_cuda_territory(const PythonContext& context, Node node);

}  // namespace torchport::rules
