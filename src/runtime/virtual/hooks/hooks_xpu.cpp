// Answers what ATen asks of XPU. As with CUDA, the class must have this name and be registered
// before `import torch`.
#include <ATen/detail/XPUHooksInterface.h>

#include "runtime/virtual/hooks/hooks.h"

namespace at {
namespace {

struct XPUHooks final : torchport::vdev::Hooks<XPUHooksInterface, c10::DeviceType::XPU> {
  explicit XPUHooks(XPUHooksArgs = {}) {}  // torch 2.12 passes them, 2.13 does not

  bool hasXPU() const override { return is_here(); }
  std::string showConfig() const override { return "  - Virtual XPU of torchport\n"; }
  int32_t getGlobalIdxFromDevice(const Device& device) const override { return device.index(); }
  DeviceIndex getNumGPUs() const override { return deviceCount(); }
  DeviceIndex current_device() const override { return getCurrentDevice(); }
  void deviceSynchronize(DeviceIndex) const override {}
};

REGISTER_XPU_HOOKS(XPUHooks)

}  // namespace
}  // namespace at
