// Devices that are lost because a kernel of CUDA C++ failed.
#pragma once

#include <string>

#include <c10/core/Device.h>

namespace torchport::vdev {

// A kernel of CUDA C++ ended with an error and has said so: an illegal access, or a failed
// assertion and all else. The device is lost if errors are reported late (device_errors.h). Does
// not raise. Thread safe.
void lose_by_kernel(c10::DeviceIndex device, const std::string& kernel, bool is_access);

}  // namespace torchport::vdev
