// Names the functions of torch.cuda that code calls.
#pragma once

#include <string_view>

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

// The function of torch.cuda that a call calls, however it was imported: "synchronize" for
// torch.cuda.synchronize. "" for every other call.
[[nodiscard]] std::string_view cuda_function(const SemanticModel& model, syntax::Node call);

}  // namespace torchport::semantics
