// Where a value came from and what was done with it, within one file: through
// names, attributes of self, returns of the file's functions and the arguments
// that its callers pass.
#pragma once

#include <string_view>
#include <vector>

#include "source/semantics/semantic_model.h"

namespace torchport::rules {

struct ValueHistory {
  std::vector<syntax::Node> steps;    // every expression on the way, nearest first
  std::vector<syntax::Node> origins;  // where the ways end: calls, literals, names of unknown make
  bool open = false;                  // some way ends outside: a parameter that nobody here fills
};

[[nodiscard]] ValueHistory trace_value(const semantics::SemanticModel& model,
                                       syntax::Node expression);

// Calls `x.METHOD(...)` where x is a name that the value went through, in the
// scope where it had that name.
[[nodiscard]] std::vector<syntax::Node> calls_on(const semantics::SemanticModel& model,
                                                 const ValueHistory& trace,
                                                 std::string_view method);

// The calls of a function or method of the file, from within the file.
[[nodiscard]] std::vector<syntax::Node> callers_of(const semantics::SemanticModel& model,
                                                   syntax::Node function);

// The expressions that a function returns (its own, not of functions inside).
[[nodiscard]] std::vector<syntax::Node> returns_of(const semantics::SemanticModel& model,
                                                   syntax::Node function);

}  // namespace torchport::rules
