#include "runtime/virtual/core/alias.h"

#include <limits>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/fill.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/COW.h>
#include <c10/core/impl/COWDeleter.h>

#include "runtime/virtual/core/like_tensors.h"
#include "runtime/virtual/core/phantom.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/core/tensor_bytes.h"
#include "runtime/virtual/errors/unallocated.h"
#include "runtime/virtual/watch/late_streams.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::TensorImpl;

// The key of a tensor of zeros without memory (torch._efficientzerotensor). It can only be given to
// a tensor that is made: _set_zero() raises.
DispatchKeySet zero_key(const TensorImpl& like) {
  return like._is_zerotensor() ? DispatchKeySet(DispatchKey::ZeroTensor) : DispatchKeySet();
}

// Makes a new tensor. It is not of ImplType::VIEW, because such a tensor has no autograd keys and
// counts as an inference tensor.
Tensor fresh(c10::Storage storage, DispatchKey key, const TensorImpl& like) {
  return at::detail::make_tensor<TensorImpl>(std::move(storage),
                                             DispatchKeySet(key) | zero_key(like), like.dtype());
}

// Makes a view that is an inference tensor if `like` is one. A view of a tensor that autograd
// tracks has to be tracked, too, also in inference mode.
Tensor view(c10::Storage storage, const TensorImpl& of, const TensorImpl& like) {
  return at::detail::make_tensor<TensorImpl>(TensorImpl::VIEW, std::move(storage),
                                             (of.key_set() - kOfOneTensor) | zero_key(like),
                                             like.dtype());
}

// The dispatch keys of a new tensor of the CPU, which depend on the mode.
DispatchKeySet keys_of_new() {
  const auto keys_in = [](bool inference) {
    const c10::InferenceMode mode(inference);
    return at::detail::make_tensor<TensorImpl>(DispatchKeySet(DispatchKey::CPU),
                                               caffe2::TypeMeta::Make<float>(),
                                               c10::Device(c10::DeviceType::CPU))
        .key_set();
  };
  static const DispatchKeySet kUsual = keys_in(false);
  static const DispatchKeySet kOfInference = keys_in(true);
  return c10::InferenceMode::is_enabled() ? kOfInference : kUsual;
}

// Whether a tensor is nobody's but the caller's, and has nothing that a new tensor has not.
bool is_new(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return tensor.use_count() == 1 && tensor.weak_use_count() == 1 &&
         impl.key_set() == keys_of_new() && impl.autograd_meta() == nullptr &&
         impl.allow_tensor_metadata_change() && !impl.is_wrapped_number();
}

bool is_of_host_allocator(const c10::StorageImpl& storage) {
  return storage.data_ptr().get_deleter() == c10::GetCPUAllocator()->raw_deleter();
}

// A tensor of the CPU as one of the device over this storage.
Tensor on_device(Tensor tensor, c10::Storage storage) {
  TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!is_new(tensor))
    return shaped(fresh(std::move(storage), Runtime::get().kind().dense, impl), impl);
  impl.set_storage_keep_dtype(std::move(storage));
  impl._change_backend_component_keys(impl.device());
  return tensor;
}

}  // namespace

Tensor Aliases::of(MaybeOwned given, Use use) {
  const Tensor& tensor = *given;
  if (!tensor.defined()) return tensor;
  TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!is_virtual(impl.device_type())) {
    if (impl.device_type() == c10::DeviceType::CPU) host_.push_back(tensor);
    return tensor;
  }
  if (use == Use::kMayWrite) own_memory(impl);
  for (const Entry& entry : entries_) {
    if (entry.tensor->is_same(tensor)) return entry.alias;
  }
  if (device_ < 0) device_ = impl.device().index();
  Tensor alias;
  if (!is_plain(impl)) {
    alias = layout_of(tensor);
  } else {
    if (lacks_memory(impl)) [[unlikely]]
      check_memory(tensor);
    c10::intrusive_ptr<c10::StorageImpl> twin = twin_of(*impl.storage().unsafeGetStorageImpl());
    if (use == Use::kMayWrite && is_without_data() && is_phantom(twin->data_ptr()))
      may_be_written(twin->data_ptr(), twin->nbytes());
    alias = shaped(fresh(c10::Storage(std::move(twin)), DispatchKey::CPU, impl), impl);
    if (impl.is_wrapped_number()) alias.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  entries_.push_back({std::move(given), alias});
  return alias;
}

void Aliases::check_memory(const Tensor& tensor) {
  if (!allows_unallocated_) raise_unallocated(tensor, nullptr);
  any_unallocated_ = true;
}

Tensor Aliases::first_unallocated() const {
  for (const Entry& entry : entries_) {
    const TensorImpl& alias = *entry.alias.unsafeGetTensorImpl();
    if (is_plain(alias) && lacks_memory(alias)) return *entry.tensor;
  }
  return {};
}

// Gives memory that is copied on write to its tensor alone, and to the aliases that were made over
// it before.
void Aliases::own_memory(const TensorImpl& impl) {
  if (!impl.has_storage()) return;
  c10::StorageImpl& storage = *impl.storage().unsafeGetStorageImpl();
  if (!c10::impl::cow::is_cow_data_ptr(storage.data_ptr())) return;
  const c10::DeviceGuard guard(storage.device());
  try {
    static_cast<void>(storage.mutable_data());
  } catch (...) {
    // PyTorch lets go of the shared memory before it has other memory. This storage still has it.
    storage.data_ptr()
        .cast_context<c10::impl::cow::COWDeleterContext>(&c10::impl::cow::cow_deleter)
        ->increment_refcount();
    throw;
  }
  for (const Entry& entry : entries_) {
    if (entry.tensor->has_storage() && entry.tensor->storage().unsafeGetStorageImpl() == &storage &&
        entry.alias.has_storage())
      entry.alias.unsafeGetTensorImpl()->set_storage_keep_dtype(c10::Storage(twin_of(storage)));
  }
}

Tensor Aliases::back(Tensor result) {
  if (!result.defined()) return result;
  for (const Entry& entry : entries_) {
    if (entry.alias.is_same(result)) return *entry.tensor;
  }
  const TensorImpl& impl = *result.unsafeGetTensorImpl();
  if (impl.device_type() != c10::DeviceType::CPU || on_host_) return result;
  for (const Tensor& host : host_) {
    if (host.is_same(result)) return result;
  }
  if (!impl.has_storage()) return layout_back(result);
  for (const Tensor& host : host_) {
    if (host.has_storage() &&
        host.storage().unsafeGetStorageImpl() == result.storage().unsafeGetStorageImpl())
      return result;
  }
  if (!is_plain(impl)) return layout_back(result);
  check_dtype(result.scalar_type());
  const Entry* base = sharing(impl);
  if (base == nullptr) {
    c10::Storage storage = storage_of_new(result);
    return on_device(std::move(result), std::move(storage));
  }
  if (is_plain(*base->tensor->unsafeGetTensorImpl()))
    return shaped(view(base->tensor->storage(), *base->tensor->unsafeGetTensorImpl(), impl), impl);
  return shaped(fresh(base->tensor->storage(), Runtime::get().kind().dense, impl), impl);
}

// The entry whose memory an alias shares.
const Aliases::Entry* Aliases::sharing(const TensorImpl& alias) const {
  const c10::StorageImpl* cpu = alias.storage().unsafeGetStorageImpl();
  for (const Entry& entry : entries_) {
    if (entry.alias.has_storage() && entry.alias.storage().unsafeGetStorageImpl() == cpu)
      return &entry;
  }
  return nullptr;
}

c10::Storage Aliases::storage_for(const Tensor& result) {
  if (const Entry* base = sharing(*result.unsafeGetTensorImpl())) return base->tensor->storage();
  return storage_of_new(result);
}

// The device's storage for memory that no argument has.
c10::Storage Aliases::storage_of_new(const Tensor& result) {
  c10::StorageImpl* cpu = result.storage().unsafeGetStorageImpl();
  for (const Adopted& known : adopted_) {
    if (known.cpu == cpu) return known.storage;
  }
  adopted_.push_back({cpu, adopt(result.storage(), device())});
  note_shape(cpu->data(), *result.unsafeGetTensorImpl());
  if (streams_are_late())
    late::wrote(shaped(
        fresh(adopted_.back().storage, Runtime::get().kind().dense, *result.unsafeGetTensorImpl()),
        *result.unsafeGetTensorImpl()));
  return adopted_.back().storage;
}

void Aliases::write_back(const Tensor& alias) {
  for (Entry& entry : entries_) {
    if (!entry.alias.is_same(alias)) continue;
    TensorImpl& impl = *entry.tensor->unsafeGetTensorImpl();
    const TensorImpl& done = *alias.unsafeGetTensorImpl();
    if (layout_write_back(alias, *entry.tensor)) return;
    c10::StorageImpl& storage = *impl.storage().unsafeGetStorageImpl();
    if (twin_of(storage).get() == done.storage().unsafeGetStorageImpl()) {
      follow_twin(storage);
    } else if (storage.data() != done.storage().data()) {
      impl.set_storage_keep_dtype(storage_for(alias));
    }
    if (impl.sizes() != done.sizes() || impl.strides() != done.strides() ||
        impl.storage_offset() != done.storage_offset()) {
      copy_shape(done, impl);
      note_shape(impl.storage().data(), impl);
    }
    if (impl.is_conj() != done.is_conj()) impl._set_conj(done.is_conj());
    if (impl.is_neg() != done.is_neg()) impl._set_neg(done.is_neg());
    return;
  }
}

void Aliases::take(const Tensor& alias, const Tensor& result) {
  c10::StorageImpl& from = *result.storage().unsafeGetStorageImpl();
  c10::StorageImpl& to = *alias.storage().unsafeGetStorageImpl();
  const bool same = result.scalar_type() == alias.scalar_type() &&
                    result.sizes() == alias.sizes() && result.strides() == alias.strides() &&
                    result.storage_offset() == alias.storage_offset() &&
                    result.is_conj() == alias.is_conj() && result.is_neg() == alias.is_neg() &&
                    from.nbytes() == to.nbytes();
  // Memory of a pool or of the program's allocator has its place.
  const bool anywhere = is_of_host_allocator(from) && is_of_host_allocator(to);
  // A late stream may have hidden the memory of the alias.
  if (!same || !anywhere || result.use_count() != 1 || result.storage().use_count() != 1 ||
      streams_are_late()) {
    alias.copy_(result);
    return;
  }
  to.set_data_ptr_noswap(from.set_data_ptr(c10::DataPtr()));
  write_back(alias);
}

void Aliases::hide(const Tensor& tensor) {
  for (const Entry& entry : entries_) {
    if (!entry.tensor->is_same(tensor)) continue;
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto type = entry.alias.scalar_type();
    const bool has_nan = c10::isFloatingType(type) || c10::isComplexType(type);
    const auto elements =
        static_cast<std::int64_t>(entry.alias.storage().nbytes() / entry.alias.itemsize());
    const Tensor hidden = at::empty({elements}, entry.alias.options());
    hidden.fill_(has_nan ? std::numeric_limits<double>::quiet_NaN() : 0.0);
    entry.alias.unsafeGetTensorImpl()->set_storage_keep_dtype(hidden.storage());
  }
}

c10::DeviceIndex Aliases::device() const {
  return device_ < 0 ? current_device() : device_;
}

}  // namespace torchport::vdev
