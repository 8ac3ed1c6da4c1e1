#include "virtual/alias.h"

#include <ATen/SparseTensorImpl.h>
#include <ATen/native/SparseTensorUtils.h>
#include <c10/core/TensorImpl.h>

#include "virtual/runtime.h"
#include "virtual/storage.h"
#include "virtual/streams.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::TensorImpl;

void copy_shape(const TensorImpl& from, TensorImpl& to) {
  to.set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
}

// Not ImplType::VIEW: such a tensor has no autograd keys and counts as an inference tensor.
Tensor over(c10::Storage storage, DispatchKey key, const TensorImpl& like) {
  Tensor tensor =
      at::detail::make_tensor<TensorImpl>(std::move(storage), DispatchKeySet(key), like.dtype());
  TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  copy_shape(like, impl);
  if (like.is_conj()) impl._set_conj(true);
  if (like.is_neg()) impl._set_neg(true);
  return tensor;
}

}  // namespace

Tensor Aliases::of(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!is_virtual(impl.device_type())) {
    if (impl.device_type() == c10::DeviceType::CPU) host_.push_back(tensor);
    return tensor;
  }
  for (const Entry& entry : entries_) {
    if (entry.tensor.is_same(tensor)) return entry.alias;
  }
  if (device_ < 0) device_ = impl.device().index();
  Tensor alias;
  if (impl.is_sparse()) {
    alias = sparse_of(tensor);
  } else {
    TORCH_CHECK_NOT_IMPLEMENTED(impl.has_storage(), "torchport: tensors of the kind ",
                                impl.key_set(), " are not known to virtual devices yet");
    alias =
        over(c10::Storage(twin_of(*impl.storage().unsafeGetStorageImpl())), DispatchKey::CPU, impl);
    if (impl.is_wrapped_number()) alias.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  entries_.push_back({tensor, alias});
  return alias;
}

Tensor Aliases::sparse_of(const Tensor& tensor) {
  const auto* impl = at::sparse::get_sparse_impl(tensor);
  Tensor alias = at::detail::make_tensor<at::SparseTensorImpl>(
      DispatchKeySet(DispatchKey::SparseCPU), tensor.dtype());
  auto* own = at::sparse::get_sparse_impl(alias);
  own->resize_(impl->sparse_dim(), impl->dense_dim(), tensor.sizes());
  own->set_indices_and_values_unsafe(of(impl->indices()), of(impl->values()));
  own->set_nnz_and_narrow(impl->nnz());
  own->set_coalesced(impl->coalesced());
  return alias;
}

Tensor Aliases::sparse_back(const Tensor& result) {
  const auto* impl = at::sparse::get_sparse_impl(result);
  Tensor tensor = at::detail::make_tensor<at::SparseTensorImpl>(
      DispatchKeySet(Runtime::get().kind().sparse), result.dtype());
  auto* own = at::sparse::get_sparse_impl(tensor);
  own->resize_(impl->sparse_dim(), impl->dense_dim(), result.sizes());
  own->set_indices_and_values_unsafe(back(impl->indices()), back(impl->values()));
  own->set_nnz_and_narrow(impl->nnz());
  own->set_coalesced(impl->coalesced());
  return tensor;
}

Tensor Aliases::back(const Tensor& result) {
  if (!result.defined()) return result;
  for (const Entry& entry : entries_) {
    if (entry.alias.is_same(result)) return entry.tensor;
  }
  const TensorImpl& impl = *result.unsafeGetTensorImpl();
  if (impl.device_type() != c10::DeviceType::CPU) return result;
  for (const Tensor& host : host_) {
    if (host.is_same(result)) return result;
  }
  if (impl.is_sparse()) return sparse_back(result);
  if (!impl.has_storage()) return result;
  for (const Tensor& host : host_) {
    if (host.has_storage() &&
        host.storage().unsafeGetStorageImpl() == result.storage().unsafeGetStorageImpl())
      return result;
  }
  return on_device(result, storage_for(result));
}

c10::Storage Aliases::storage_for(const Tensor& result) {
  c10::StorageImpl* cpu = result.storage().unsafeGetStorageImpl();
  for (const Entry& entry : entries_) {
    if (entry.alias.has_storage() && entry.alias.storage().unsafeGetStorageImpl() == cpu)
      return entry.tensor.storage();
  }
  for (const Adopted& known : adopted_) {
    if (known.cpu == cpu) return known.storage;
  }
  adopted_.push_back({cpu, adopt(result.storage(), device())});
  return adopted_.back().storage;
}

Tensor Aliases::on_device(const Tensor& result, c10::Storage storage) const {
  check_dtype(result.scalar_type());
  return over(std::move(storage), Runtime::get().kind().dense, *result.unsafeGetTensorImpl());
}

void Aliases::write_back(const Tensor& alias) {
  for (Entry& entry : entries_) {
    if (!entry.alias.is_same(alias)) continue;
    TensorImpl& impl = *entry.tensor.unsafeGetTensorImpl();
    const TensorImpl& done = *alias.unsafeGetTensorImpl();
    if (impl.is_sparse()) {
      const auto* from = at::sparse::get_sparse_impl(alias);
      auto* to = at::sparse::get_sparse_impl(entry.tensor);
      to->raw_resize_(from->sparse_dim(), from->dense_dim(), alias.sizes());
      to->set_indices_and_values_unsafe(back(from->indices()), back(from->values()));
      to->set_nnz_and_narrow(from->nnz());
      to->set_coalesced(from->coalesced());
      return;
    }
    if (!impl.has_storage()) return;
    c10::StorageImpl& storage = *impl.storage().unsafeGetStorageImpl();
    if (twin_of(storage).get() == done.storage().unsafeGetStorageImpl()) {
      follow_twin(storage);
    } else if (storage.data() != done.storage().data()) {
      impl.set_storage_keep_dtype(storage_for(alias));
    }
    if (impl.sizes() != done.sizes() || impl.strides() != done.strides() ||
        impl.storage_offset() != done.storage_offset())
      copy_shape(done, impl);
    return;
  }
}

c10::DeviceIndex Aliases::device() const {
  return device_ < 0 ? current_device() : device_;
}

}  // namespace torchport::vdev
