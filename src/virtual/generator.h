// Random numbers of virtual devices. Each device has a generator of its own, seeded alone; the
// numbers come from a CPU generator within, so that a program draws on a virtual device what it
// draws on the CPU from the same seed. (A real device draws others: CUDA's kernels are Philox.)
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

namespace torchport::vdev {

// The default generator of a device; -1 is the current one. Raises c10::Error for no device.
[[nodiscard]] const at::Generator& default_generator(c10::DeviceIndex device);
[[nodiscard]] at::Generator new_generator(c10::DeviceIndex device);

// The CPU generator within a virtual device's.
[[nodiscard]] at::Generator twin_of(const at::Generator& generator);

}  // namespace torchport::vdev
