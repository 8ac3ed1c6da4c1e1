// Provides random numbers of virtual devices.
//
// Each device has its own generator with its own seed. The numbers come from a CPU generator inside
// it, so a program draws the same numbers on a virtual device as on the CPU with the same seed. A
// real device draws others, because CUDA's kernels use Philox.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

namespace torchport::vdev {

// The default generator of a device; -1 means the current device. Raises c10::Error for an index
// that is not a device.
[[nodiscard]] const at::Generator& default_generator(c10::DeviceIndex device);
[[nodiscard]] at::Generator new_generator(c10::DeviceIndex device);

// The CPU generator inside a virtual device's generator.
[[nodiscard]] at::Generator twin_of(const at::Generator& generator);

inline constexpr c10::DeviceIndex kNoDevice = -1;

// While this object lives, draws from the CPU's default generator come from a device's generator.
// It serves operators that have no argument for a generator. With kNoDevice it does nothing. The
// CPU's generator is global, so draws of other threads come from the device's generator meanwhile.
class DrawFrom {
 public:
  explicit DrawFrom(c10::DeviceIndex device) : device_(device) {
    if (device_ != kNoDevice) exchange();
  }
  ~DrawFrom() {
    if (device_ != kNoDevice) exchange();
  }
  DrawFrom(const DrawFrom&) = delete;
  DrawFrom& operator=(const DrawFrom&) = delete;

 private:
  void exchange() const;

  c10::DeviceIndex device_;
};

}  // namespace torchport::vdev
