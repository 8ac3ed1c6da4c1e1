// Decides what conditions of a build script are where the user has set none of the variables that
// they read: `os.getenv("SKIP_CUDA", "0") == "1"` is false then, and its opposite is no test.
#pragma once

#include <optional>

#include "source/semantics/semantic_model.h"

namespace torchport::rules {

// The truth of the condition, also through names that have one value. Nothing if it reads anything
// but the environment and literals.
[[nodiscard]] std::optional<bool> unset_truth(const semantics::SemanticModel& model,
                                              syntax::Node condition);

}  // namespace torchport::rules
