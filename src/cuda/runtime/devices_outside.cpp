#include <atomic>

#include "runtime/device/cuda_devices.h"

namespace torchport::cuda {

namespace {

std::atomic<const Devices*> given = nullptr;

}  // namespace

const Devices* devices_outside() {
  return given.load(std::memory_order_acquire);
}

}  // namespace torchport::cuda

void torchport_cuda_use_devices(const torchport::cuda::Devices* devices) {
  if (devices != nullptr) torchport::cuda::given.store(devices, std::memory_order_release);
}
