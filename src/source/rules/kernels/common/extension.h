// Analyses compiled extensions in Python code: which calls compile CUDA sources, where the
// resulting module is used, and which guards let a file work without it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/edit/edit.h"
#include "source/rules/rule.h"
#include "source/semantics/semantic_model.h"

namespace torchport::rules {

// Whether an expression contains names of CUDA sources: strings that end in ".cu", also through
// names and calls.
[[nodiscard]] bool names_cuda_sources(const semantics::SemanticModel& model,
                                      syntax::Node expression);

// Whether a call is torch.utils.cpp_extension.load or load_inline with CUDA sources.
[[nodiscard]] bool compiles_cuda(const semantics::SemanticModel& model, syntax::Node call);

// Whether a class derives from torch.autograd.Function.
[[nodiscard]] bool is_autograd_function(const semantics::ClassFacts* facts);

// The edits that let a file work without a compiled module, which is bound to the name at `target`.
// At the top of each function that launches a kernel of it, they insert a call of the plain PyTorch
// twin that the file has (NAME_reference and the like, with the same parameters), or else a clear
// error. None if a use cannot be guarded, or if there are too many.
[[nodiscard]] std::optional<std::vector<edit::Edit>> guard_uses(
    const semantics::SemanticModel& model, syntax::Node target);

// The edits that run a statement only under a condition and set `target` to None before it. Empty
// if the statement shares its line with another one.
[[nodiscard]] std::vector<edit::Edit> run_only_if(const semantics::SemanticModel& model,
                                                  syntax::Node statement, syntax::Node target,
                                                  std::string_view condition);

}  // namespace torchport::rules
