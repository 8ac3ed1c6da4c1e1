// Devices without data: operators whose arguments have no values give results that have none,
// instead of being computed (`torchport run --no-data`, `torchport plan`).
//
// Over the kernel of each operator lies one that asks for the arguments. If all have data, the
// kernel below does its work. If one has none, PyTorch's meta kernel says which results there would
// be, and they are charged to the device; nothing is computed. Where there is no meta kernel, the
// kernel below computes on zeros.
//
// Rejected: FakeTensorMode, which has no accounts, no streams and no views of one storage over
// devices, and which the program would have to be started in.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace torchport::vdev {

// Lays such kernels over all that are registered for the devices, once, if the devices have no
// data. It is called when the first memory of a device is taken: all groups of operators are there
// by then. Thread safe.
void cover_kernels();

}  // namespace torchport::vdev
