// What ATen asks of XPU. As with CUDA, the class must have this name and be registered before
// `import torch`.
#include <ATen/detail/XPUHooksInterface.h>

#include "virtual/generator.h"
#include "virtual/pinned.h"
#include "virtual/runtime.h"
#include "virtual/streams.h"

namespace at {
namespace {

namespace vdev = torchport::vdev;

bool is_xpu() {
  return vdev::is_virtual(c10::DeviceType::XPU) && vdev::Runtime::get().count() > 0;
}

struct XPUHooks final : XPUHooksInterface {
  explicit XPUHooks(XPUHooksArgs = {}) {}  // torch 2.12 passes them, 2.13 does not

  void init() const override {}
  bool hasXPU() const override { return is_xpu(); }
  bool isBuilt() const override { return is_xpu(); }
  bool isAvailable() const override { return is_xpu(); }
  bool hasPrimaryContext(DeviceIndex) const override { return is_xpu(); }
  std::string showConfig() const override { return "  - Virtual XPU of torchport\n"; }
  int32_t getGlobalIdxFromDevice(const Device& device) const override { return device.index(); }

  DeviceIndex getNumGPUs() const override { return is_xpu() ? vdev::Runtime::get().count() : 0; }
  DeviceIndex deviceCount() const override { return getNumGPUs(); }
  DeviceIndex current_device() const override { return vdev::current_device(); }
  DeviceIndex getCurrentDevice() const override { return vdev::current_device(); }
  void setCurrentDevice(DeviceIndex device) const override { vdev::set_current_device(device); }
  DeviceIndex exchangeDevice(DeviceIndex device) const override {
    const DeviceIndex old = vdev::current_device();
    if (device >= 0 && device != old) vdev::set_current_device(device);
    return old;
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const override {
    return exchangeDevice(device);
  }
  void deviceSynchronize(DeviceIndex) const override {}

  const Generator& getDefaultGenerator(DeviceIndex device) const override {
    return vdev::default_generator(device);
  }
  Generator getNewGenerator(DeviceIndex device) const override {
    return vdev::new_generator(device);
  }
  Allocator* getPinnedMemoryAllocator() const override { return vdev::pinned_allocator(); }
  bool isPinnedPtr(const void* data) const override { return vdev::is_pinned(data); }
  Device getDeviceFromPtr(void*) const override {
    return {c10::DeviceType::XPU, vdev::current_device()};
  }
};

REGISTER_XPU_HOOKS(XPUHooks)

}  // namespace
}  // namespace at
