// Says where a module is, as far as its file shows it. Rules that compare the place of a model with
// that of its inputs ask it.
#pragma once

#include "source/rules/value_history.h"
#include "source/semantics/semantic_model.h"

namespace torchport::rules {

enum class Place : std::uint8_t {
  kUnknown,
  kCpu,        // made in this file, and never moved
  kElsewhere,  // moved to a device that is not the CPU
};

// The place of the module with this history. Moves that run only with CUDA are kUnknown.
[[nodiscard]] Place module_place(const semantics::SemanticModel& model, const ValueHistory& trace);

// The moves of a module that made it kElsewhere: the calls of cuda() and to().
[[nodiscard]] std::vector<syntax::Node> module_moves(const semantics::SemanticModel& model,
                                                     const ValueHistory& trace);

}  // namespace torchport::rules
