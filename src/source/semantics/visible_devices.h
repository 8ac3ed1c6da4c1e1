// Finds where a program sets the variable that chooses its GPUs.
#pragma once

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

// Whether an assignment or a call sets CUDA_VISIBLE_DEVICES: os.environ[...] = x,
// os.environ.setdefault(..., x), os.environ.update(...), os.putenv(..., x).
[[nodiscard]] bool sets_visible_devices(const SemanticModel& model, syntax::Node node);

// Whether an import may be of a module of the same project: it is none of the well-known ones,
// which do not start CUDA when they are imported, and none of torch.
[[nodiscard]] bool may_be_of_project(syntax::Node import);

// Whether `if __name__ == "__main__":` is around a node of the module's own code.
[[nodiscard]] bool in_main_block(syntax::Node node);

// The last statement of the module's own code, outside of functions and of `if __name__ ==
// "__main__":`, that sets CUDA_VISIBLE_DEVICES; invalid if there is none.
[[nodiscard]] syntax::Node last_setting_on_import(const SemanticModel& model);

}  // namespace torchport::semantics
