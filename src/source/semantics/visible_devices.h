// Finds where a program sets the variable that chooses its GPUs.
#pragma once

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

// Whether an assignment or a call sets CUDA_VISIBLE_DEVICES: os.environ[...] = x,
// os.environ.setdefault(..., x), os.environ.update(...), os.putenv(..., x).
[[nodiscard]] bool sets_visible_devices(const SemanticModel& model, syntax::Node node);

}  // namespace torchport::semantics
