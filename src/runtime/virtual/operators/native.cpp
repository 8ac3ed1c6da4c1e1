// Implements operators that allocate or place memory, for which the CPU's kernels cannot stand in.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/core/tensor_bytes.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

c10::Device device_or_current(std::optional<c10::Device> device) {
  const c10::DeviceType type = Runtime::get().kind().type;
  const c10::Device wanted = device.value_or(c10::Device(type));
  if (wanted.has_index()) return wanted;
  return {type, current_device()};
}

// What torch.utils.deterministic.fill_uninitialized_memory asks for: NaN or the largest integer
// instead of what the memory held.
Tensor filled_if_deterministic(Tensor result) {
  const at::Context& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory()) {
    at::native::fill_empty_deterministic_(result);
  }
  return result;
}

// Tells the checker of kernels of a new tensor.
Tensor noted(Tensor tensor) {
  note_shape(tensor.storage().data(), *tensor.unsafeGetTensorImpl());
  return tensor;
}

Tensor empty_memory_format(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                           std::optional<at::Layout>, std::optional<c10::Device> device,
                           std::optional<bool> pin_memory,
                           std::optional<at::MemoryFormat> memory_format) {
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  check_dtype(at::dtype_or_default(dtype));
  const c10::DeviceGuard guard(device_or_current(device));
  return filled_if_deterministic(noted(at::detail::empty_generic(
      size, device_allocator(), c10::DispatchKeySet(Runtime::get().kind().dense),
      at::dtype_or_default(dtype), memory_format)));
}

Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                     std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                     std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  check_dtype(at::dtype_or_default(dtype));
  const c10::DeviceGuard guard(device_or_current(device));
  return filled_if_deterministic(noted(at::detail::empty_strided_generic(
      size, stride, device_allocator(), c10::DispatchKeySet(Runtime::get().kind().dense),
      at::dtype_or_default(dtype))));
}

// Returns a tensor without memory: autograd's zeros that are never written out.
Tensor efficient_zero_tensor(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                             std::optional<at::Layout>, std::optional<c10::Device> device,
                             std::optional<bool>) {
  const c10::Device on = device_or_current(device);
  const c10::DeviceGuard guard(on);
  at::native::ZeroTensorAllocator allocator(on);
  const auto keys = c10::DispatchKeySet(Runtime::get().kind().dense) |
                    c10::DispatchKeySet(c10::DispatchKey::ZeroTensor);
  return at::detail::empty_generic(size, &allocator, keys, at::dtype_or_default(dtype),
                                   std::nullopt);
}

Tensor& set_nothing(Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, device_allocator(), true);
  return self.set_(std::move(storage), 0, {0}, {});
}

// The memory is shared until one of the two is written, or copied at once if it cannot be shared.
Tensor lazy_clone(const Tensor& self) {
  c10::Storage storage(lazy_clone_of(*self.storage().unsafeGetStorageImpl()));
  if (!storage) {
    const auto size = static_cast<std::int64_t>(self.storage().nbytes());
    const auto bytes = self.options().dtype(at::kByte);
    storage = at::empty({0}, bytes).set_(self.storage(), 0, {size}, {1}).clone().storage();
  }
  Tensor result = at::empty({0}, self.options());
  result.set_(storage, self.storage_offset(), self.sizes(), self.strides());
  result._set_conj(self.is_conj());
  result._set_neg(self.is_neg());
  return result;
}

void record_stream_of(Tensor& tensor, c10::Stream stream) {
  if (tensor.has_storage()) record_stream(tensor.storage().data_ptr(), stream);
}

void put_memory(torch::Library& aten) {
  aten.impl("empty.memory_format", TORCH_FN(empty_memory_format));
  aten.impl("empty_strided", TORCH_FN(empty_strided));
  aten.impl("_efficientzerotensor", TORCH_FN(efficient_zero_tensor));
  // Views, by the functions that the CPU and CUDA share.
  aten.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  aten.impl("view", TORCH_FN(at::native::view));
  aten.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  aten.impl("unfold", TORCH_FN(at::native::unfold));
  aten.impl("set_.source_Storage", TORCH_FN(at::native::set_));
  aten.impl("set_.source_Storage_storage_offset", TORCH_FN(at::native::set_storage_cpu_));
  aten.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  aten.impl("set_", TORCH_FN(set_nothing));
  aten.impl("_lazy_clone", TORCH_FN(lazy_clone));
  aten.impl("record_stream", TORCH_FN(record_stream_of));
}

// These take a storage, which AliasKernel cannot alias.
void put_quantized_memory(torch::Library& aten) {
  aten.impl("set_.source_Storage_storage_offset", TORCH_FN(at::native::set_storage_quantized_));
}

const OperatorGroup kMemory(&put_memory);
const OperatorGroup kQuantized(&put_quantized_memory, {&KindKeys::quantized});

}  // namespace

}  // namespace torchport::vdev
