// Which parameters of a function are tensors that come from elsewhere, and so
// decide on which device the function has to work.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

class TensorInputs {
 public:
  // Annotated tensors, and in `forward` of a module the parameters that are
  // used as tensors. Empty for constructors, datasets, collate functions and
  // functions that bring their inputs to the CPU.
  [[nodiscard]] static TensorInputs of(const SemanticModel& model, Node function);

  [[nodiscard]] explicit operator bool() const { return !derived_.empty(); }
  // One of them, to be named in a message.
  [[nodiscard]] std::string_view any() const {
    return names_.empty() ? *derived_.begin() : names_.front();
  }
  // Whether an input, or what was computed from one, is in the expression as a
  // tensor: `x`, `self.conv(x)[0]`; not `x.size(0)`, `len(x)`, `x.device`.
  [[nodiscard]] bool feed(const SemanticModel& model, Node expression) const;
  // Whether the name is an input or of what was computed from one.
  [[nodiscard]] bool knows(std::string_view name) const { return derived_.contains(name); }
  // Whether the identifier is one of them, as it came in.
  [[nodiscard]] bool is_input(const SemanticModel& model, Node identifier) const;
  // The expression for their device at a call inside: a device in scope, else
  // `x.device`; empty when none can be named there.
  [[nodiscard]] std::string device_for(const PythonContext& context, Node call) const;

 private:
  void spread(const SemanticModel& model, Node function);

  std::vector<std::string_view> names_;  // known to be tensors
  std::set<std::string_view> derived_;  // names of what was computed from them, and they themselves
};

}  // namespace torchport::rules
