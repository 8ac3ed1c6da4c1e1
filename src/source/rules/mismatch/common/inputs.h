// Finds the parameters of a function that are tensors from its callers. Their device is the one on
// which the function has to work.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

class TensorInputs {
 public:
  // The inputs of a function: parameters that are annotated as tensors and, in `forward` of a
  // module, those that are used as tensors. Empty for constructors, datasets, collate functions and
  // functions that bring their inputs to the CPU.
  [[nodiscard]] static TensorInputs of(const SemanticModel& model, Node function);

  [[nodiscard]] explicit operator bool() const { return !derived_.empty(); }
  // The name of one input, for a message.
  [[nodiscard]] std::string_view any() const {
    return names_.empty() ? *derived_.begin() : names_.front();
  }
  // The parameters that are inputs.
  [[nodiscard]] const std::vector<std::string>& parameters() const { return parameters_; }
  // Whether the expression contains, as a tensor, an input or a value computed from one: `x`,
  // `self.conv(x)[0]`; but not `x.size(0)`, `len(x)`, `x.device`.
  [[nodiscard]] bool feed(const SemanticModel& model, Node expression) const;
  // Whether the name is an input or was computed from one.
  [[nodiscard]] bool knows(std::string_view name) const { return derived_.contains(name); }
  // Whether the identifier is an input that was not reassigned.
  [[nodiscard]] bool is_input(const SemanticModel& model, Node identifier) const;
  // The expression for the inputs' device at a call in the function: a device in scope, else
  // `x.device`; empty if there is none.
  [[nodiscard]] std::string device_for(const PythonContext& context, Node call) const;

 private:
  void spread(const SemanticModel& model, Node function);

  std::vector<std::string> parameters_;
  std::vector<std::string_view> names_;  // names that are known to be tensors
  std::set<std::string_view> derived_;   // these names, and those computed from them
};

// Whether the class around a node has chosen the CPU: `self.device = "cpu"`, wherever it sets it.
[[nodiscard]] bool is_in_cpu_class(const SemanticModel& model, Node node);

}  // namespace torchport::rules
