// What tensors that stand for another one share: those of the CPU (alias.h) and those of the meta
// device (without_data/meta_aliases.h).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/TensorImpl.h>

namespace torchport::vdev {

// The dispatch keys of a tensor that its views need not have.
inline constexpr c10::DispatchKeySet kOfOneTensor({c10::DispatchKey::Conjugate,
                                                   c10::DispatchKey::Negative,
                                                   c10::DispatchKey::ZeroTensor});

// Whether a tensor is one strided piece of memory and nothing else.
[[nodiscard]] inline bool is_plain(const c10::TensorImpl& impl) {
  return impl.has_storage() && !impl.is_nested() && !impl.is_quantized();
}

inline void copy_shape(const c10::TensorImpl& from, c10::TensorImpl& to) {
  to.set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
}

// The tensor with the shape and the flag bits of `like`.
[[nodiscard]] inline at::Tensor shaped(at::Tensor tensor, const c10::TensorImpl& like) {
  c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  copy_shape(like, impl);
  if (like.is_conj()) impl._set_conj(true);
  if (like.is_neg()) impl._set_neg(true);
  return tensor;
}

}  // namespace torchport::vdev
