// Recognizes numbers of devices, such as the rank of a process, where torch takes a device, and
// gives the code around them a device instead.
#pragma once

#include <string_view>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

// Whether an expression is known to be the number of a device: `rank` of a worker,
// int(os.environ["LOCAL_RANK"]), args.local_rank, dist.get_rank().
[[nodiscard]] bool is_device_index(const SemanticModel& model, Node expression);

// The argument that says where a call of torch puts something: `x.to(a)`, `torch.zeros(2,
// device=a)`, `torch.device(a)`, `x.cuda(a)`; invalid for other calls.
[[nodiscard]] Node placing_argument(const SemanticModel& model, Node call);

// A fix for everything that a piece of code does with the number that this expression names: one
// variable has the device, all calls use it, and torch.cuda.set_device is run only with CUDA. Its
// tier is kDisplay if that cannot be written.
[[nodiscard]] Fix index_fix(const PythonContext& context, Node index);

// Whether the same code also places something by the number that this expression names.
[[nodiscard]] bool places_by_index(const PythonContext& context, Node index);

}  // namespace torchport::rules
