// Random numbers of virtual devices. Each device has a generator of its own, seeded alone; the
// numbers come from a CPU generator within, so that a program draws on a virtual device what it
// draws on the CPU from the same seed. (A real device draws others: CUDA's kernels are Philox.)
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

namespace torchport::vdev {

// The default generator of a device; -1 is the current one. Raises c10::Error for no device.
[[nodiscard]] const at::Generator& default_generator(c10::DeviceIndex device);
[[nodiscard]] at::Generator new_generator(c10::DeviceIndex device);

// The CPU generator within a virtual device's.
[[nodiscard]] at::Generator twin_of(const at::Generator& generator);

inline constexpr c10::DeviceIndex kNoDevice = -1;

// While it lives, what draws from the CPU's default generator draws from a device's: for operators
// that have no argument for a generator. With kNoDevice it does nothing. Other threads that draw
// from the CPU's generator meanwhile draw from the device's, too.
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
