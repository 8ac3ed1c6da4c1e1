// Holds the virtual devices of this process: which there are, and the memory of each.
//
// It is made once, when the library is loaded, from the environment variable TORCHPORT_VIRTUAL
// (runtime/device/spec.h). It is never destroyed, because tensors may outlive all static objects.
#pragma once

#include <memory>
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
  // The one Runtime of the process. Thread safe.
  static Runtime& get();

  [[nodiscard]] const device::Spec& spec() const { return spec_; }
  [[nodiscard]] const KindKeys& kind() const { return kind_; }
  // The description of the device kind. Without devices it is CUDA's, because a program that runs
  // here is one for CUDA.
  [[nodiscard]] const devices::DeviceKind& description() const { return *description_; }
  [[nodiscard]] c10::DeviceIndex count() const {
    return static_cast<c10::DeviceIndex>(visible_.size());
  }
  // Reads the variable that hides devices (CUDA_VISIBLE_DEVICES) again. Programs set it after
  // `import torch`, and a real runtime reads it when it is initialised. Not thread safe.
  void look_again();
  // Fixes the visible devices: later changes of the variable have no effect.
  void settle() { settled_ = true; }
  // For each device of this process, its number among all virtual devices.
  [[nodiscard]] const std::vector<int>& visible() const { return visible_; }
  // The UUID of each virtual device, visible or not, as the driver writes it: "GPU-...". Made from
  // the profile and the device's number, so that it is the same in each process.
  [[nodiscard]] const std::vector<std::string>& uuids() const { return uuids_; }
  // The memory of a device. Raises c10::Error for an index that is not a device.
  [[nodiscard]] device::MemoryModel& memory(c10::DeviceIndex index);

 private:
  Runtime();
  void publish_memory();

  device::Spec spec_;
  const devices::DeviceKind* description_;
  KindKeys kind_;
  std::vector<std::string> uuids_;
  std::vector<int> visible_;
  bool settled_ = false;
  std::vector<std::unique_ptr<device::MemoryModel>> memories_;
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
