// Answers what ATen asks of every device kind alike. The questions for a single kind are answered
// in hooks_*.cpp.
#pragma once

#include <c10/core/Device.h>

#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/core/pinned.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

// `Interface` is one of ATen/detail/*HooksInterface.h.
template <class Interface, c10::DeviceType kType>
struct Hooks : Interface {
  // Whether there are virtual devices, and they are of this kind.
  static bool is_here() { return is_virtual(kType) && Runtime::get().has_devices(); }

  void init() const override {}
  bool isBuilt() const override { return is_here(); }
  bool isAvailable() const override {
    // As in the functions of torch.cuda: the answer of the runtime, which starts for it.
    const bool here = is_here();
    if (here) Runtime::get().settle();
    return here;
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return is_here(); }

  c10::DeviceIndex deviceCount() const override {
    if (!is_here()) return 0;
    Runtime::get().settle();
    return Runtime::get().count();
  }
  c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
  void setCurrentDevice(c10::DeviceIndex device) const override { set_current_device(device); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    const c10::DeviceIndex old = current_device();
    if (device >= 0 && device != old) set_current_device(device);
    return old;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return exchangeDevice(device);
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return new_generator(device);
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  at::Device getDeviceFromPtr(void*) const override { return {kType, current_device()}; }
};

}  // namespace torchport::vdev
