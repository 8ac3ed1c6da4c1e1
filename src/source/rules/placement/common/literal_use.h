// Says what a device that is written as a literal is there for: whether the caller chose it,
// whether anything reads it, whether code around it compares with the same device.
#pragma once

#include "source/rules/rule.h"
#include "source/semantics/literals.h"

namespace torchport::rules {

// Whether the index is what a caller gave who chose a GPU by its number: `f"cuda:{device}"` below
// `isinstance(device, int)` or `device < 0`.
[[nodiscard]] bool is_callers_index(const SemanticModel& model, const semantics::Literal& literal);

// Whether the device is bound to a variable, or kept in a dict of one, that nothing reads.
[[nodiscard]] bool is_never_read(const PythonContext& context, Node site);

// Whether nothing reads a parameter with its default: it is not used, or bound anew at once.
[[nodiscard]] bool is_parameter_unread(const SemanticModel& model, Node parameter);

// Whether torch.device(...) stands beside its own name in the values of a test:
// `(torch.device("cuda", 2), "cuda:2")`.
[[nodiscard]] bool is_beside_its_name(const semantics::Literal& literal);

// Whether a test makes torch.device(...) only to compare what a function says of it:
// `assertEqual(index_of(torch.device("cuda:3")), 3)`.
[[nodiscard]] bool is_only_looked_at(const PythonContext& context,
                                     const semantics::Literal& literal);

// Whether an `if` around a move compares the device of what is moved with CUDA by name: `if
// x.device != torch.device("cuda"): x = x.to("cuda")`.
[[nodiscard]] bool is_move_to_compared(const SemanticModel& model, Node site);

}  // namespace torchport::rules
