// The parts of a build's decision, only for build_plan.cpp and the files beside it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "build_gate/build_plan.h"

namespace torchport::build_gate {

// Why there is no CUDA code, and what would change that.
struct Obstacle {
  std::string code;
  std::string what;
  std::string remedy;
};
template <class T>
using Or = tl::expected<T, Obstacle>;

// The variable's value without blanks around it; empty where it is not set.
[[nodiscard]] std::string variable(const BuildInputs& inputs, const std::string& name);

// "pip install torch==2.13.0 --index-url .../cu130" for a build of this torch and CUDA's major
// version; empty where none is known.
[[nodiscard]] std::string install_line(const host::Torch& torch, std::string_view cuda);

// "/usr/local/cuda (PATH)".
[[nodiscard]] std::string place(const BuildToolkit& toolkit);

// Where a variable names one, it is that one. Else the first whose version is the torch's own, else
// the first that fits.
[[nodiscard]] Or<BuildToolkit> choose_toolkit(const BuildInputs& inputs);
[[nodiscard]] std::optional<Obstacle> compiler_refused(const BuildInputs& inputs,
                                                       const BuildToolkit& toolkit);

// kUsage of the list is a refusal, whatever was demanded: who asks for an architecture wants it.
struct ArchChoice {
  std::vector<releases::GpuArch> archs;
  std::optional<Obstacle> refused;
};
// For the plan's toolkit; adds notes to the plan.
[[nodiscard]] Or<ArchChoice> choose_archs(const BuildInputs& inputs, BuildPlan& plan);

}  // namespace torchport::build_gate
