// Names that say that CUDA is on: `use_cuda`, `args.no_gpu`, a parameter that is on by default.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

// Whether a name is a usual flag for "CUDA is on". The name is split into words at underscores and
// capitals.
[[nodiscard]] bool is_cuda_flag(std::string_view name);
// Whether such a flag is on without CUDA: no_cuda, disable_gpu.
[[nodiscard]] bool is_negative_flag(std::string_view name);

// Whether a flag asks for the CPU: `--cpu`, `use_cpu=True`. It is a negative flag of CUDA, too.
[[nodiscard]] bool is_cpu_flag(std::string_view name);

// The parameter behind a name if it is a flag that is on by default and that no call of the file
// sets: `use_cuda=True`, `no_cuda=False`; null for other names.
[[nodiscard]] const Binding* on_by_default(const SemanticModel& model, Node name);

// The parameters of flags and the attributes of one file, asked for at each guard.
class FlagFacts {
 public:
  explicit FlagFacts(const SemanticModel& model);

  // The values that the file assigns to an attribute as it is written: `args.cuda = args.cuda and
  // torch.cuda.is_available()`.
  [[nodiscard]] const std::vector<Node>& values_of(Node attribute) const;

  // Whether some call of the file gives the parameter a value of its own.
  [[nodiscard]] bool is_given(const Binding& parameter) const;

 private:
  [[nodiscard]] bool look_for_value(const Binding& parameter) const;

  const SemanticModel& model_;
  std::unordered_map<std::string_view, std::vector<Node>> attribute_values_;
  mutable std::unordered_map<const Binding*, bool> given_;
};

}  // namespace torchport::semantics
