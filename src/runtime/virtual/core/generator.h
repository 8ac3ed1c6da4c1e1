// Provides random numbers of virtual devices.
//
// Each device has its own generator with its own seed. There are two kinds of them:
//
// - PhiloxGenerator draws what a real CUDA device of the profile draws. Operators that draw have
//   kernels of their own for it (operators/random_*.cpp). An operator without one runs the CPU's
//   kernel on a CPU generator that is seeded from the device's: the numbers are not a real
//   device's, but they follow its state.
// - The other kind wraps a CPU generator, so that a program draws the same numbers on a virtual
//   device as on the CPU with the same seed: with `random=cpu`, in proofs, and for kinds other than
//   CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "runtime/virtual/core/philox_generator.h"

namespace torchport::vdev {

// Whether this process draws a real device's numbers. Constant while it runs.
[[nodiscard]] bool draws_as_device();

// The default generator of a device; -1 means the current device. Raises c10::Error for an index
// that is not a device.
[[nodiscard]] const at::Generator& default_generator(c10::DeviceIndex device);
[[nodiscard]] at::Generator new_generator(c10::DeviceIndex device);

// The generator for an operator that writes to `self`: `generator`, or the default one of its
// device. Raises c10::Error if `self` is not on a virtual device, so that only the generator
// brought the call there.
[[nodiscard]] std::optional<at::Generator> generator_for(
    const at::Tensor& self, const std::optional<at::Generator>& generator);

// The CPU generator from which a CPU's kernel draws for a device's generator. Where generators draw
// as a real device, this reserves `numbers` of the device's generator.
[[nodiscard]] at::Generator host_generator(const at::Generator& generator, std::uint64_t numbers);

// How many numbers a thread of a real device's kernel may draw, for operators that have no kernel
// of their own here. `name` is the operator's without overload.
[[nodiscard]] std::uint64_t numbers_reserved_by(const std::string& name);

inline constexpr c10::DeviceIndex kNoDevice = -1;

// While this object lives, draws from the CPU's default generator come from a device's generator.
// It serves operators that have no argument for a generator. With kNoDevice it does nothing. The
// CPU's generator is global, so draws of other threads come from the device's generator meanwhile.
class DrawFrom {
 public:
  explicit DrawFrom(c10::DeviceIndex device);
  ~DrawFrom() {
    if (host_.defined()) exchange();
  }
  DrawFrom(const DrawFrom&) = delete;
  DrawFrom& operator=(const DrawFrom&) = delete;

 private:
  void exchange() const;

  at::Generator host_;
};

}  // namespace torchport::vdev
