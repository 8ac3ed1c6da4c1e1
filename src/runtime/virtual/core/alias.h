// Makes CPU tensors over the bytes of tensors on virtual devices, and turns results back into
// tensors of the device.
#pragma once

#include <cstdint>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/util/MaybeOwned.h>
#include <c10/util/SmallVector.h>

#include "runtime/virtual/core/host_allocator.h"

namespace torchport::vdev {

// Holds the aliases of one call of an operator. A tensor has one alias per call, however often it
// is passed, so that a kernel that compares its arguments sees the same tensor. Not thread safe:
// each call has its own.
class Aliases {
 public:
  // What is done with an alias.
  enum class Use : std::uint8_t { kReads, kMayWrite };

  // Returns a CPU tensor with the sizes, strides, offset and flag bits of `tensor`, over the same
  // bytes. Returns `tensor` itself if it is not on a virtual device. Memory that is copied on write
  // is copied now unless the alias is only read; raises c10::OutOfMemoryError. Raises what
  // raise_unallocated() does for a tensor whose storage has too few bytes.
  [[nodiscard]] at::Tensor of(at::Tensor tensor, Use use = Use::kMayWrite) {
    return of(MaybeOwned::owned(std::move(tensor)), use);
  }
  // The same for a tensor that outlives this object: its references are not counted. Counting them
  // takes Python's lock for a tensor that only Python holds (since torch 2.13).
  [[nodiscard]] at::Tensor of_borrowed(const at::Tensor& tensor, Use use) {
    return of(MaybeOwned::borrowed(tensor), use);
  }

  // Turns a kernel's result into a tensor on the device: the tensor whose alias it is, or a view if
  // it shares the memory of one; otherwise its memory is adopted, and if nobody else holds the
  // result, it becomes that tensor itself. A CPU tensor that was passed is returned as it is.
  // Raises c10::OutOfMemoryError.
  [[nodiscard]] at::Tensor back(at::Tensor result);

  // Applies to the tensor what a kernel did to its alias beyond the bytes: other sizes, other
  // memory.
  void write_back(const at::Tensor& alias);

  // Gives the elements of a tensor of the CPU to the tensor of `alias`, which was made for them:
  // its memory, if nobody else holds that and it has the same layout; else a copy.
  void take(const at::Tensor& alias, const at::Tensor& result);

  // Puts NaN (0 for types without it) into the alias of `tensor`, which gets bytes of its own.
  void hide(const at::Tensor& tensor);

  // For calls that may leave the memory of their tensors alone: of() takes tensors whose storage
  // has too few bytes, and unallocated() tells of them.
  void allow_unallocated() { allows_unallocated_ = true; }
  // The first such tensor whose alias still has too few bytes; undefined if there is none.
  [[nodiscard]] at::Tensor unallocated() const {
    return any_unallocated_ ? first_unallocated() : at::Tensor();
  }
  [[nodiscard]] bool any_unallocated() const { return any_unallocated_; }

  // The device of results that no argument determines.
  [[nodiscard]] c10::DeviceIndex device() const;
  void set_device(c10::DeviceIndex device) { device_ = device; }
  // Leaves results on the CPU, because the call asks for that.
  void stay_on_host() { on_host_ = true; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  // Whether CPU tensors were passed and no tensor of a device.
  [[nodiscard]] bool only_host() const { return entries_.empty() && !host_.empty(); }

 private:
  const HostMemoryOfDevice of_device_;  // what the kernel takes is the device's

  using MaybeOwned = c10::MaybeOwned<at::Tensor>;
  struct Entry {
    MaybeOwned tensor;
    at::Tensor alias;
  };
  struct Adopted {
    c10::StorageImpl* cpu = nullptr;
    c10::Storage storage;
  };

  at::Tensor of(MaybeOwned tensor, Use use);
  void check_memory(const at::Tensor& tensor);
  [[nodiscard]] at::Tensor first_unallocated() const;
  [[nodiscard]] const Entry* sharing(const c10::TensorImpl& alias) const;
  c10::Storage storage_for(const at::Tensor& result);
  c10::Storage storage_of_new(const at::Tensor& result);
  void own_memory(const c10::TensorImpl& impl);

  // For tensors that are not one strided piece of memory; see alias_layouts.cpp.
  at::Tensor layout_of(const at::Tensor& tensor);
  at::Tensor layout_back(const at::Tensor& result);
  bool layout_write_back(const at::Tensor& alias, const at::Tensor& tensor);
  at::Tensor nested_of(const at::Tensor& tensor);
  at::Tensor nested_back(const at::Tensor& result);
  c10::intrusive_ptr<at::Quantizer> quantizer_with(const at::Tensor& tensor, bool on_device);

  c10::SmallVector<Entry, 6> entries_;
  c10::SmallVector<at::Tensor, 2> host_;  // CPU tensors that were passed
  c10::SmallVector<Adopted, 2> adopted_;
  c10::DeviceIndex device_ = -1;
  bool on_host_ = false;
  bool allows_unallocated_ = false;
  bool any_unallocated_ = false;
};

}  // namespace torchport::vdev
