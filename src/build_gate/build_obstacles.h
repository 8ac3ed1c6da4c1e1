// Declares the parts of a build's decision. It is private to build_plan.cpp and the files beside
// it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "build_gate/build_plan.h"

namespace torchport::build_gate {

// Why no CUDA code can be built, and what would change that.
struct Obstacle {
  std::string code;
  std::string what;
  std::string remedy;
};
template <class T>
using Or = tl::expected<T, Obstacle>;

// The variable's value without surrounding blanks; empty if it is not set.
[[nodiscard]] std::string variable(const BuildInputs& inputs, const std::string& name);

// "pip install torch==2.13.0 --index-url .../cu130" for a build of this torch and CUDA's major
// version; empty if none is known.
[[nodiscard]] std::string install_line(const host::Torch& torch, std::string_view cuda);

// "/usr/local/cuda (PATH)".
[[nodiscard]] std::string place(const BuildToolkit& toolkit);

// The toolkit that a variable names, else the first whose version is torch's own, else the first
// that fits.
[[nodiscard]] Or<BuildToolkit> choose_toolkit(const BuildInputs& inputs);
[[nodiscard]] std::optional<Obstacle> compiler_refused(const BuildInputs& inputs,
                                                       const BuildToolkit& toolkit);

// "rocm" or "xpu" if torch is built for it; else empty.
[[nodiscard]] std::string device_of(const host::Torch& torch);
// Fills the plan for AMD's or Intel's GPUs, or says why code for them cannot be compiled.
[[nodiscard]] std::optional<Obstacle> plan_for_device(const BuildInputs& inputs, BuildPlan& plan);
// Finds the compilers for AMD's and Intel's GPUs on a machine.
[[nodiscard]] std::vector<DeviceCompiler> device_compilers(const host::Machine& machine);

// What this toolkit lacks of cuda_headers(), and no package beside torch has.
[[nodiscard]] std::vector<std::string> missing_headers(const BuildInputs& inputs,
                                                       const BuildToolkit& toolkit);
// Adds what compilers must be told to find the headers and libraries of the plan's toolkit and of
// packages (CPATH, LIBRARY_PATH), and notes on what they do not find.
void add_search_paths(const BuildInputs& inputs, BuildPlan& plan);

// An invalid list of architectures is a refusal even if CUDA is not demanded: who names an
// architecture wants it.
struct ArchChoice {
  std::vector<releases::GpuArch> archs;
  std::optional<Obstacle> refused;
};
// Chooses the architectures for the plan's toolkit. Adds notes to the plan.
[[nodiscard]] Or<ArchChoice> choose_archs(const BuildInputs& inputs, BuildPlan& plan);

}  // namespace torchport::build_gate
