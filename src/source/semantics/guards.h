// What the code around a place already knows about CUDA: `if
// torch.cuda.is_available():`, early returns, assertions, skip decorators.
#pragma once

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

// What holds at a place, or when a condition is true (or false).
struct CudaKnowledge {
  bool present = false;  // CUDA is there: a hard-coded CUDA call cannot fail for lack of it
  bool absent = false;   // CUDA is not there
  Node condition;        // the test that says so

  [[nodiscard]] explicit operator bool() const { return present || absent; }
};

// What the enclosing branches, earlier exits of the same blocks and decorators
// imply at `at`. The innermost word counts.
[[nodiscard]] CudaKnowledge knowledge_at(const SemanticModel& model, Node at);

// What follows when `condition` turned out to be `truth`. Follows names to
// their definition: `use_cuda = args.cuda and torch.cuda.is_available()`.
[[nodiscard]] CudaKnowledge implied_by(const SemanticModel& model, Node condition, bool truth);

// Shorthand: code that runs only where CUDA is.
[[nodiscard]] inline bool is_cuda_guarded(const SemanticModel& model, Node at) {
  return knowledge_at(model, at).present;
}

// Whether a block leaves for good at its end: return, raise, continue, break, exit().
[[nodiscard]] bool always_leaves(const SemanticModel& model, Node block);

}  // namespace torchport::semantics
