// Reports tensors whose storage has fewer bytes than the tensor needs, before a kernel uses them:
// `x.untyped_storage().resize_(0)` frees the memory of parameters, as FSDP does. The CPU's kernels
// would read address 0 or beyond a block, which ends the process.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/TensorImpl.h>

namespace torchport::vdev {

namespace detail {
// The bytes from the start of the storage to the last element. REQUIRED: it has elements.
[[nodiscard]] std::size_t bytes_needed(const c10::TensorImpl& impl);
}  // namespace detail

// Whether a strided tensor's storage has too few bytes for it. REQUIRED: it has a storage. Thread
// safe.
[[nodiscard]] inline bool lacks_memory(const c10::TensorImpl& impl) {
  if (impl.numel() == 0) return false;
  const std::size_t bytes = impl.unsafe_storage().nbytes();
  // Most tensors, without a look at their strides.
  const auto end = static_cast<std::size_t>(impl.storage_offset() + impl.numel());
  if (impl.is_contiguous() && end * impl.itemsize() <= bytes) return false;
  return detail::bytes_needed(impl) > bytes;
}

// Raises what a real device raises for a call with such a tensor, with a line of torchport's that
// says why. `op` may be null. A kernel of TensorIterator is given address 0, so that CUDA finds an
// illegal access and the device is lost (here only if errors of kernels are reported late); most
// others ask for a pointer to elements of a type, which the host refuses (TensorImpl::
// data_ptr_impl). A storage that is too small, but not empty, is always an illegal access: a real
// device reads or writes what lies behind it, or finds that nothing does. Thread safe.
[[noreturn]] void raise_unallocated(const at::Tensor& tensor, const c10::OperatorHandle* op);

}  // namespace torchport::vdev
