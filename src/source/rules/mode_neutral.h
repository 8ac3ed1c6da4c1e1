// Knows models that compute the same in train and in evaluation mode.
#pragma once

#include "source/semantics/semantic_model.h"

namespace torchport::rules {

// Whether a call creates a module that has, as far as the file shows, neither dropout nor batch
// statistics and does not ask for its mode: a layer of torch.nn, or a class of this file that is
// made of such layers. False for all that is defined elsewhere.
[[nodiscard]] bool is_mode_neutral(const semantics::SemanticModel& model, syntax::Node call);

}  // namespace torchport::rules
