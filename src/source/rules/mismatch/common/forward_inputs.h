// Decides whether a module, called with tensors on the CPU, certainly raises once it was moved.
// Some modules move their inputs themselves, and some programs have a default device.
#pragma once

#include "source/rules/rule.h"
#include "source/rules/value_history.h"

namespace torchport::rules {

// Whether all that the model may be leaves its inputs where they are: layers of torch.nn, models of
// torchvision, and classes of this file that speak of no device.
[[nodiscard]] bool keeps_inputs(const SemanticModel& model, const ValueHistory& trace);

// Whether a class of this file keeps parameters or buffers, and speaks of no device itself.
[[nodiscard]] bool keeps_state(const SemanticModel& model, const semantics::ClassFacts& facts);

// Whether all that the module may be has parameters: it must be where its inputs are.
[[nodiscard]] bool has_state(const SemanticModel& model, const ValueHistory& trace);

// Whether a read of a module leaves it where it is: a call, `net.eval()`, `net.parameters()`.
[[nodiscard]] bool leaves_in_place(Node read);

// Whether the file lets something else choose devices: a default device, a trainer that moves the
// batches.
[[nodiscard]] bool has_device_manager(const SemanticModel& model);

// Whether a loader yields tensors on the CPU, as far as the file shows: a DataLoader without a
// collate function, over data that no expression here puts on a device.
[[nodiscard]] bool yields_cpu_batches(const SemanticModel& model, Node iterable);

// Whether a loop over it may get batches on the CPU: false for what is no loader (`zip`, a list),
// and where the file's own data or collate function speaks of devices.
[[nodiscard]] bool may_yield_cpu_batches(const SemanticModel& model, Node iterable);

}  // namespace torchport::rules
