#include "source/semantics/cuda_calls.h"

namespace torchport::semantics {

std::string_view cuda_function(const SemanticModel& model, syntax::Node call) {
  std::string_view name = model.called(call);
  if (!name.starts_with("torch.cuda.")) return {};
  name.remove_prefix(11);
  for (const std::string_view module : {"random.", "memory.", "streams."}) {
    if (name.starts_with(module)) name.remove_prefix(module.size());
  }
  return name;
}

}  // namespace torchport::semantics
