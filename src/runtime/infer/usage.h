// Chooses what measures a device of torch: NVML if there is one, otherwise torch's own account of
// an accelerator (also for virtual devices), or the host's figures for the CPU.
#pragma once

#include <memory>

#include <c10/core/Device.h>

#include "host/usage/usage.h"

namespace torchport::infer {

// The best available source for a device. For the CPU, memory is that of this program.
[[nodiscard]] std::unique_ptr<host::UsageSource> usage_of(c10::Device device);

}  // namespace torchport::infer
