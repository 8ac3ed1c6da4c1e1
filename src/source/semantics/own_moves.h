// Finds classes that move in their own way: with a `cuda` or a `to` that is not torch's. Where
// there is one, `.cuda()` and `.to(device)` may do different things.
#pragma once

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

// Whether a class of the file has a method of this name, in its body or in that of a class of the
// file from which it inherits.
[[nodiscard]] bool has_method(const SemanticModel& model, const ClassFacts& facts,
                              std::string_view name);

// Whether an expression is an imported name in the case of classes: `nets.Net`.
[[nodiscard]] bool names_imported_class(const SemanticModel& model, syntax::Node expression);

// Whether the file gives some class a `cuda` or a `to` by other means than `def`: `cuda = f` in its
// body, `Net.cuda = f`, `setattr(Net, "cuda", f)`.
[[nodiscard]] bool patches_moves(const SemanticModel& model);

}  // namespace torchport::semantics
