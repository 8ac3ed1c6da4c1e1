// Finds what starts CUDA, and whether importing a file does. CUDA reads CUDA_VISIBLE_DEVICES once,
// when it starts.
#pragma once

#include "source/semantics/semantic_model.h"

namespace torchport::flow {

// Whether a call makes the driver read the variable. Seeds and settings do not; torch keeps them
// for later. device_count() asks the management library, which reads the variable each time.
[[nodiscard]] bool starts_cuda(const semantics::SemanticModel& model, syntax::Node call);

// Whether the file starts CUDA when it is imported: in its own code, in a default value or a
// decorator, or by a function of it that its own code calls.
[[nodiscard]] bool starts_cuda_on_import(const semantics::SemanticModel& model);

}  // namespace torchport::flow
