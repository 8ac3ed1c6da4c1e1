// Says where tensors are exchanged between processes.
#pragma once

#include "source/rules/rule.h"

namespace torchport::rules {

// Whether the function around a place exchanges tensors by collectives of torch.distributed. Not
// every device has a backend for them (a Mac's GPU has none), so a device that is chosen for the
// tensors there is no safe one.
[[nodiscard]] bool runs_collectives(const SemanticModel& model, Node place);

}  // namespace torchport::rules
