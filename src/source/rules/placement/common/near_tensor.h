// Finds a tensor at hand for code that makes or moves another one: the one whose size is used, or
// the one that the result is combined with. Its device is better than one of the whole module.
#pragma once

#include <string>

#include "source/semantics/semantic_model.h"

namespace torchport::rules {

struct NearTensor {
  std::string device;     // "x.device"; empty if there is none
  bool combined = false;  // an operator takes both, so with CUDA both are there
};

// The tensor at hand for a move, or for a literal in a move or in a call that makes a tensor:
// `torch.ones(x.size()).cuda()`, `x + mask.to("cuda")`.
[[nodiscard]] NearTensor near_tensor(const semantics::SemanticModel& model, syntax::Node node);

}  // namespace torchport::rules
