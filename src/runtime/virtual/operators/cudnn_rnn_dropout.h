// Drops elements between the layers of cuDNN's recurrent layers.
//
// How cuDNN draws which elements it drops is not published. Here a state, which a number of the
// device's generator seeds as on a real device, counts the numbers that were drawn from it, and the
// numbers are those of cuRAND. Where generators draw the CPU's numbers, so does dropout.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "runtime/virtual/operators/recurrent.h"

namespace torchport::vdev {

// The dropout of one call. Not thread safe.
class RnnDropout {
 public:
  // `state` is undefined or the CPU's view of a state of init_dropout_state(); it is advanced. The
  // uint8 tensor `reserve` has a byte for each element that the layers hand on.
  RnnDropout(const RecurrentLayout& layout, c10::DeviceIndex device, at::Tensor state,
             at::Tensor reserve)
      : layout_(layout), device_(device), state_(std::move(state)), reserve_(std::move(reserve)) {}

  // Returns the output of a layer without those elements that it draws, and notes them.
  [[nodiscard]] at::Tensor draw(const at::Tensor& output, std::int64_t layer) const;
  // Drops what draw() has dropped.
  [[nodiscard]] at::Tensor again(const at::Tensor& output, std::int64_t layer) const;

 private:
  [[nodiscard]] at::Tensor noted(const at::Tensor& output, std::int64_t layer) const;
  [[nodiscard]] at::Tensor dropped(const at::Tensor& output, const at::Tensor& kept) const;

  RecurrentLayout layout_;
  c10::DeviceIndex device_;
  at::Tensor state_;
  at::Tensor reserve_;
};

// The state of a device from which its layers drop. It is made when a layer drops for the first
// time, and again after the device's generator got a seed or an offset. Undefined where generators
// draw the CPU's numbers. Thread safe.
[[nodiscard]] at::Tensor dropout_state_of(const at::Tensor& input, double dropout);

}  // namespace torchport::vdev
