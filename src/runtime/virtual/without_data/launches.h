// Launches of the program's own kernels on devices without data.
//
// A kernel reads and writes memory that a launch gives it as addresses. If the values of one of
// them are not there, the launch is not run: it counts as an operator, and what else it may have
// written counts as not there from then on. That keeps the values that it has: most of what a
// kernel is given is read, and new memory of such a device is zeros.
#pragma once

#include "runtime/device/cuda_devices.h"

namespace torchport::vdev {

// For CUDA's runtime; null if the devices have data.
[[nodiscard]] const cuda::WithoutData* launches_without_data();

}  // namespace torchport::vdev
