// What comparisons say about CUDA, for conditions.cpp only.
#pragma once

#include "source/semantics/guards.h"

namespace torchport::semantics {

[[nodiscard]] inline CudaKnowledge cuda_known(bool present, Node condition) {
  CudaKnowledge result;
  (present ? result.present : result.absent) = true;
  result.condition = condition;
  return result;
}

// What a comparison implies if it has the value `truth`: device.type == "cuda", device != "cpu",
// "cuda" in str(device), torch.version.cuda is not None, ngpu > 0.
[[nodiscard]] CudaKnowledge comparison_knowledge(const SemanticModel& model, Node comparison,
                                                 bool truth);

// Whether the node is a string with this value.
[[nodiscard]] inline bool is_word(Node node, std::string_view word) {
  std::string text;
  return syntax::string_value(node, text) && text == word;
}

// Whether a condition asks what the machine has. `x.is_cuda` asks for a tensor's place.
[[nodiscard]] bool asks_machine(const SemanticModel& model, Node condition);

}  // namespace torchport::semantics
