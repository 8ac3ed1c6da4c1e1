// CPU tensors over the bytes of tensors on virtual devices, and back.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/util/SmallVector.h>

namespace torchport::vdev {

// The aliases of one call of an operator. One tensor has one alias, however often it is passed, so
// that a kernel sees what is the same as the same.
class Aliases {
 public:
  // A CPU tensor with the sizes, strides, offset and bits of this one, over the same bytes. The
  // tensor itself when it is not on a virtual device.
  [[nodiscard]] at::Tensor of(const at::Tensor& tensor);

  // What a kernel gave back, on the device: the tensor whose alias it is, a view where it shares
  // the memory of one, else its memory is adopted. CPU tensors that were passed come back as they
  // are. Raises c10::OutOfMemoryError.
  [[nodiscard]] at::Tensor back(const at::Tensor& result);

  // Carries what a kernel did to an alias beyond its bytes (sizes, another memory) over to the
  // tensor.
  void write_back(const at::Tensor& alias);

  // Where results go that nothing else places.
  [[nodiscard]] c10::DeviceIndex device() const;
  void set_device(c10::DeviceIndex device) { device_ = device; }
  // The call asked for its results on the CPU.
  void stay_on_host() { on_host_ = true; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  // CPU tensors were passed and none of a device.
  [[nodiscard]] bool only_host() const { return entries_.empty() && !host_.empty(); }

 private:
  struct Entry {
    at::Tensor tensor;
    at::Tensor alias;
  };
  struct Adopted {
    c10::StorageImpl* cpu = nullptr;
    c10::Storage storage;
  };

  [[nodiscard]] const Entry* sharing(const c10::TensorImpl& alias) const;
  c10::Storage storage_for(const at::Tensor& result);

  // alias_layouts.cpp: tensors that are more than one piece of memory with strides.
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
};

}  // namespace torchport::vdev
