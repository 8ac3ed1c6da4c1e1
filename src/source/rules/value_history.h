// Finds out where a value came from and what was done with it within one file: through names,
// attributes of self, returns of the file's functions and the arguments that its callers pass. It
// is separate from the model's inference, which stops at the first answer; this follows every path.
#pragma once

#include <string_view>
#include <vector>

#include "source/semantics/semantic_model.h"

namespace torchport::rules {

struct ValueHistory {
  std::vector<syntax::Node> steps;    // every expression on the paths, nearest first
  std::vector<syntax::Node> origins;  // the ends of the paths: calls, literals, unknown names
  // some path ends outside of the file: at a parameter that no caller here passes
  bool open = false;
};

[[nodiscard]] ValueHistory trace_value(const semantics::SemanticModel& model,
                                       syntax::Node expression);

// The calls `x.METHOD(...)` where x is a name that the value had, in the scope where it had that
// name.
[[nodiscard]] std::vector<syntax::Node> calls_on(const semantics::SemanticModel& model,
                                                 const ValueHistory& trace,
                                                 std::string_view method);

// The calls of a function or method within the file.
[[nodiscard]] std::vector<syntax::Node> callers_of(const semantics::SemanticModel& model,
                                                   syntax::Node function);

// The expressions that a function returns, without those of functions inside it.
[[nodiscard]] std::vector<syntax::Node> returns_of(const semantics::SemanticModel& model,
                                                   syntax::Node function);

}  // namespace torchport::rules
