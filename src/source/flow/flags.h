// Flags that say that CUDA is there, and code that depends on those of other files.
#pragma once

#include <string>
#include <vector>

#include "source/flow/summary.h"
#include "source/semantics/semantic_model.h"

namespace torchport::flow {

// The names of the module, and the attributes of its classes ("C.on"), that are true only with
// CUDA: `HAS_CUDA = torch.cuda.is_available()`.
[[nodiscard]] std::vector<std::string> cuda_flags(const semantics::SemanticModel& model);

// What the other files may say so that code runs only with CUDA: that a flag around it is one of
// theirs, or that their calls set the flag of its function that is on by default.
[[nodiscard]] std::vector<Condition> conditions_at(const semantics::SemanticModel& model,
                                                   syntax::Node at);

}  // namespace torchport::flow
