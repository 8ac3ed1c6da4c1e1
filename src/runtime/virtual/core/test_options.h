// For unit tests: tensors on virtual CUDA devices.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/TensorOptions.h>

namespace torchport::vdev {

[[nodiscard]] inline at::TensorOptions on(c10::DeviceIndex device) {
  return at::TensorOptions().device(c10::Device(c10::DeviceType::CUDA, device));
}

}  // namespace torchport::vdev
