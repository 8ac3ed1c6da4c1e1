// Makes tensors of the meta device in the place of a call's arguments, and turns the results of a
// meta kernel into tensors of the device: as Aliases (core/alias.h), where nothing has values.
#pragma once

#include <initializer_list>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>

namespace torchport::vdev {

// Holds the stand-ins of one call. A storage has one stand-in per call, so that a kernel sees which
// arguments share memory. Not thread safe: each call has its own.
class MetaAliases {
 public:
  // A tensor of the meta device with the sizes, strides, offset and flags of `tensor`, which is on
  // a virtual device or on the CPU. A CPU tensor without dimensions is returned as it is: a number.
  // Undefined for a tensor that is not one strided piece of memory (is_plain()).
  [[nodiscard]] at::Tensor of(const at::Tensor& tensor);
  // Whether of() can stand in for it.
  [[nodiscard]] static bool is_plain(const at::Tensor& tensor);

  // The tensor whose stand-in `result` is, a view of one if it shares its memory, or a new one of
  // the device, whose memory is charged: zeros that are made up if it is small enough to have
  // data, else none. Raises c10::OutOfMemoryError.
  [[nodiscard]] at::Tensor back(const at::Tensor& result);

  // Gives a tensor that the kernel has resized its new size. Raises c10::OutOfMemoryError.
  void write_back(const at::Tensor& stand_in);

  [[nodiscard]] c10::DeviceIndex device() const;
  void set_device(c10::DeviceIndex device) { device_ = device; }

 private:
  struct Entry {
    at::Tensor tensor;
    at::Tensor stand_in;
  };
  struct Memory {
    c10::Storage real;
    c10::Storage stand_in;
  };

  const c10::Storage& memory_of(const c10::Storage& real);
  [[nodiscard]] c10::Storage* real_of(const c10::Storage& stand_in);

  c10::SmallVector<Entry, 6> entries_;
  c10::SmallVector<Memory, 6> memories_;
  c10::DeviceIndex device_ = -1;
};

// Whether the tensor is on a virtual device and its values are not there.
[[nodiscard]] bool lacks_data(const at::Tensor& tensor);
// Whether its values stand for some that are not there.
[[nodiscard]] bool is_made_up(const at::Tensor& tensor);
// Says so of a tensor of a virtual device, or of the host.
void mark_made_up(const at::Tensor& tensor);

// Whether one of them, if it is defined, lacks its values.
[[nodiscard]] bool lack_data(std::initializer_list<at::Tensor> tensors);
// Fills the results of a kernel that does not compute: zeros that are made up, in those that are
// small enough to have data.
void make_up(std::initializer_list<at::Tensor> results);

}  // namespace torchport::vdev
