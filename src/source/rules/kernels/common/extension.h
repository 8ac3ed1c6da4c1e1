// Compiled extensions in Python code: which calls compile CUDA sources, where
// the module they yield is used, and the guards that let a file do without it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/edit/edit.h"
#include "source/rules/rule.h"
#include "source/semantics/semantic_model.h"

namespace torchport::rules {

// Whether an expression names CUDA sources: strings that end in ".cu", through
// names and calls.
[[nodiscard]] bool names_cuda_sources(const semantics::SemanticModel& model,
                                      syntax::Node expression);

// torch.utils.cpp_extension.load or load_inline of CUDA sources.
[[nodiscard]] bool compiles_cuda(const semantics::SemanticModel& model, syntax::Node call);

// A class that derives from torch.autograd.Function.
[[nodiscard]] bool is_autograd_function(const semantics::ClassFacts* facts);

// The edits that make the uses of a compiled module at `target` (the name it
// is bound to) do without it: at the top of each function that launches it, a
// return of the twin in plain PyTorch that the file has (NAME_reference and the
// like, same parameters), else a clear error. nullopt where a use cannot be
// guarded, or where that would be too many.
[[nodiscard]] std::optional<std::vector<edit::Edit>> guard_uses(
    const semantics::SemanticModel& model, syntax::Node target);

// The edits that run a statement only under a condition, setting `target` to
// None before; nothing where the statement does not stand alone.
[[nodiscard]] std::vector<edit::Edit> run_only_if(const semantics::SemanticModel& model,
                                                  syntax::Node statement, syntax::Node target,
                                                  std::string_view condition);

}  // namespace torchport::rules
