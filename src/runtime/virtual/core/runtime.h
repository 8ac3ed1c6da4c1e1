// The virtual devices of this process: which there are, and the memory of each.
//
// Made once, when the library is loaded, from the environment variable TORCHPORT_VIRTUAL
// (runtime/device/spec.h), and never unmade: tensors may outlive everything else.
#pragma once

#include <memory>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/ScalarType.h>

#include "runtime/device/memory_model.h"
#include "runtime/device/spec.h"

namespace torchport::vdev {

// The dispatch keys of a kind of device. Kernels are written for all kinds: what differs between
// them stands here and in the kind's description (devices/device_kind.h).
struct Kind {
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
  // The process's own. Thread-safe.
  static Runtime& get();

  [[nodiscard]] const device::Spec& spec() const { return spec_; }
  [[nodiscard]] const Kind& kind() const { return kind_; }
  // Of the kind; where there are no devices, that of CUDA, whose program this is.
  [[nodiscard]] const devices::DeviceKind& description() const { return *description_; }
  [[nodiscard]] c10::DeviceIndex count() const {
    return static_cast<c10::DeviceIndex>(visible_.size());
  }
  // Reads the variable that hides devices (CUDA_VISIBLE_DEVICES) again: programs set it after
  // `import torch`, and a real runtime reads it when it is initialised. Not thread-safe.
  void look_again();
  // From now on the variable that hides devices changes nothing.
  void settle() { settled_ = true; }
  // The number among all virtual devices that each of this process's has.
  [[nodiscard]] const std::vector<int>& visible() const { return visible_; }
  // Raises c10::Error for an index that is none of a device.
  [[nodiscard]] device::MemoryModel& memory(c10::DeviceIndex index);

 private:
  Runtime();

  device::Spec spec_;
  const devices::DeviceKind* description_;
  Kind kind_;
  std::vector<int> visible_;
  bool settled_ = false;
  std::vector<std::unique_ptr<device::MemoryModel>> memories_;
};

// Raises where this kind of device has no such type of elements: MPS has no float64.
// Thread-safe.
void check_dtype(c10::ScalarType dtype);

// Whether something is on a virtual device.
inline bool is_virtual(c10::DeviceType type) {
  static const c10::DeviceType kType = Runtime::get().kind().type;
  return type == kType;
}
inline bool is_virtual(c10::Device device) {
  return is_virtual(device.type());
}

}  // namespace torchport::vdev
