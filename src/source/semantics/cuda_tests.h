// Finds tests for CUDA that no other analysis reads: what they decide stays on the CPU where CUDA
// is not.
#pragma once

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

// Whether the file asks whether CUDA is there, and uses the answer in other ways than as the
// condition of code that says itself where something goes, or for something that has no place.
[[nodiscard]] bool has_unread_test(const SemanticModel& model);

}  // namespace torchport::semantics
