// Holds the virtual devices of this process: which there are, and the memory of each.
//
// The environment variable TORCHPORT_VIRTUAL says which (runtime/device/spec.h). What decides which
// kernels and libraries there are is read when the library is loaded: the kind, the profile, where
// random numbers come from, and whether tensors have data. How many devices there are and their
// memory are read when somebody first asks, as CUDA does when it is initialised. The Runtime is
// never destroyed, because tensors may outlive all static objects.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/ScalarType.h>

#include "runtime/device/memory_model.h"
#include "runtime/device/spec.h"

namespace torchport::vdev {

// The dispatch keys of a device kind. Kernels are written once for all kinds; whatever differs
// between kinds is here and in the kind's description (devices/device_kind.h).
struct KindKeys {
  c10::DeviceType type;
  c10::DispatchKey dense;
  c10::DispatchKey sparse;
  c10::DispatchKey sparse_csr;
  c10::DispatchKey quantized;
  c10::DispatchKey nested;
  c10::DispatchKey autograd;
};

class Runtime {
 public:
  // The one Runtime of the process. Thread safe, as all other functions are where nothing else is
  // said.
  static Runtime& get();

  // What was read when the library was loaded.
  [[nodiscard]] const std::string& kind_name() const { return loaded_.kind; }
  [[nodiscard]] device::RandomNumbers random_numbers() const { return loaded_.random; }
  // The bytes up to which tensors have data; all have it if there is no number.
  [[nodiscard]] const std::optional<std::uint64_t>& data() const { return loaded_.data; }
  // Null without devices.
  [[nodiscard]] const devices::Profile* profile() const { return loaded_.profile; }

  [[nodiscard]] const device::Spec& spec() const { return devices().spec; }
  [[nodiscard]] const KindKeys& kind() const { return kind_; }
  // The description of the device kind. Without devices it is CUDA's, because a program that runs
  // here is one for CUDA.
  [[nodiscard]] const devices::DeviceKind& description() const { return *description_; }
  [[nodiscard]] c10::DeviceIndex count() const {
    return static_cast<c10::DeviceIndex>(devices().visible.size());
  }
  // Whether somebody has used the devices, or asked what is read at their first use.
  [[nodiscard]] bool are_made() const {
    return devices_.load(std::memory_order_acquire) != nullptr;
  }
  // Whether any device is visible. torch asks this when it is imported, which is no use of devices.
  [[nodiscard]] bool has_devices() const;
  // Reads the variable that hides devices (CUDA_VISIBLE_DEVICES) again. Programs set it after
  // `import torch`, and a real runtime reads it when it is initialised. Not thread safe.
  void look_again();
  // Fixes the visible devices, as the start of the runtime does: later changes of the variable have
  // no effect.
  void settle() { devices().settled = true; }
  // For each device of this process, its number among all virtual devices.
  [[nodiscard]] const std::vector<int>& visible() const { return devices().visible; }
  // The UUID of each virtual device, visible or not, as the driver writes it: "GPU-...". Made from
  // the profile and the device's number, so that it is the same in each process.
  [[nodiscard]] const std::vector<std::string>& uuids() const { return devices().uuids; }
  // The memory of a device. Raises c10::Error for an index that is not a device.
  [[nodiscard]] device::MemoryModel& memory(c10::DeviceIndex index);
  // Calls `set_up` for the memory of each virtual device, visible or not: now, or once the devices
  // are made.
  void for_each_memory(std::function<void(device::MemoryModel&)> set_up);

 private:
  struct Devices {
    device::Spec spec;
    std::vector<std::string> uuids;
    std::vector<int> visible;
    bool settled = false;
    std::vector<std::unique_ptr<device::MemoryModel>> memories;
  };

  Runtime();
  [[nodiscard]] Devices& devices() const {
    Devices* made = devices_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make_devices();
  }
  Devices& make_devices() const;
  [[nodiscard]] bool is_like_loaded(const device::Spec& spec) const;
  // The devices that the variable describes now, if they are like those that were loaded.
  [[nodiscard]] device::Spec spec_of_now() const;
  [[nodiscard]] Devices described_by(const device::Spec& spec) const;
  static void publish_memory(Devices& of);
  void look_again(Devices& at) const;

  device::Spec loaded_;
  const devices::DeviceKind* description_;
  KindKeys kind_;
  mutable std::mutex making_;
  std::vector<std::function<void(device::MemoryModel&)>> set_up_;  // until the devices are made
  mutable std::atomic<Devices*> devices_{nullptr};
};

// Raises if this device kind does not have the dtype: MPS has no float64. Thread safe.
void check_dtype(c10::ScalarType dtype);

// Whether a device type, or a device, is that of the virtual devices.
inline bool is_virtual(c10::DeviceType type) {
  static const c10::DeviceType kType = Runtime::get().kind().type;
  return type == kType;
}
inline bool is_virtual(c10::Device device) {
  return is_virtual(device.type());
}

}  // namespace torchport::vdev
