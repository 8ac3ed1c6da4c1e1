// Finds out what the code around a place already knows about CUDA: `if torch.cuda.is_available():`,
// early returns, assertions, skip decorators. Code behind such a guard runs only with CUDA, so
// reporting it would be wrong.
#pragma once

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

// What is known at a place, or if a condition is true (or false).
struct CudaKnowledge {
  bool present = false;  // CUDA is available, so a hard-coded CUDA call cannot fail for lack of it
  bool absent = false;   // CUDA is not available
  Node condition;        // the test that says so
  // The parameter behind the test if it is on by default, `use_cuda=True`: who does not know of it
  // gets CUDA.
  const Binding* by_default = nullptr;

  [[nodiscard]] explicit operator bool() const { return present || absent; }
};

// What the enclosing branches, earlier exits of the same blocks and decorators imply at `at`. The
// innermost one decides.
[[nodiscard]] CudaKnowledge knowledge_at(const SemanticModel& model, Node at);

// What follows if `condition` has the value `truth`. Follows names to their definitions: `use_cuda
// = args.cuda and torch.cuda.is_available()`.
[[nodiscard]] CudaKnowledge implied_by(const SemanticModel& model, Node condition, bool truth);

// Whether code runs only if CUDA is available. A flag that is on by default is no guard.
[[nodiscard]] inline bool is_cuda_guarded(const SemanticModel& model, Node at) {
  const CudaKnowledge known = knowledge_at(model, at);
  return known.present && known.by_default == nullptr;
}

// What a decorator implies for what it decorates: @skipUnless(torch.cuda.is_available(), ...),
// @require_torch_gpu.
[[nodiscard]] CudaKnowledge decorator_knowledge(const SemanticModel& model, Node decorator);

// Whether a node names a test of torch without calling it, `torch.cuda.is_available`: as a
// condition it is always true.
[[nodiscard]] bool is_uncalled_test(const SemanticModel& model, Node condition);

// Whether a statement demands CUDA: `assert torch.cuda.is_available()`, or an `if` without CUDA
// that raises an error or ends the program. What follows is no less tied to CUDA for it, so a
// demand is no guard. Skipping a test and returning are guards.
[[nodiscard]] bool is_cuda_demand(const SemanticModel& model, Node statement);

// Whether a block always leaves at its end: return, raise, continue, break, exit().
[[nodiscard]] bool always_leaves(const SemanticModel& model, Node block);

// Whether what follows a `try` runs only if its body came through: each handler always leaves.
[[nodiscard]] bool handlers_leave(const SemanticModel& model, Node attempt);

}  // namespace torchport::semantics
