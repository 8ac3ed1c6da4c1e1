// Finds where a program sets the variable that chooses its GPUs.
#pragma once

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

// Whether an assignment or a call sets CUDA_VISIBLE_DEVICES: os.environ[...] = x,
// os.environ.setdefault(..., x), os.environ.update(...), os.putenv(..., x).
[[nodiscard]] bool sets_visible_devices(const SemanticModel& model, syntax::Node node);

// Whether a statement or a call may set it: also by a key that the file does not show,
// `os.environ[k] = x`, `os.environ.update(settings)`.
[[nodiscard]] bool may_set_visible_devices(const SemanticModel& model, syntax::Node node);

// Whether a file starts processes by fork, as multiprocessing does unless it is told otherwise. A
// child cannot use CUDA if its parent has asked for it.
[[nodiscard]] bool forks(const SemanticModel& model);

// Whether an import may be of a module of the same project: it is none of the well-known ones,
// which do not start CUDA when they are imported, and none of torch.
[[nodiscard]] bool may_be_of_project(syntax::Node import);

// Whether `if __name__ == "__main__":` is around a node of the module's own code.
[[nodiscard]] bool in_main_block(syntax::Node node);

// The last statement of the module's own code, outside of functions and of `if __name__ ==
// "__main__":`, that sets CUDA_VISIBLE_DEVICES; invalid if there is none.
[[nodiscard]] syntax::Node last_setting_on_import(const SemanticModel& model);

}  // namespace torchport::semantics
