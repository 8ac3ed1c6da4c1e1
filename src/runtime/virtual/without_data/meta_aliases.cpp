#include "runtime/virtual/without_data/meta_aliases.h"

#include <algorithm>
#include <cstring>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/TensorImpl.h>

#include "runtime/virtual/core/like_tensors.h"
#include "runtime/virtual/core/phantom.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/storage_blocks.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/without_data/host_copies.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::TensorImpl;

Tensor over(c10::Storage storage, DispatchKey key, const TensorImpl& like) {
  return shaped(
      at::detail::make_tensor<TensorImpl>(std::move(storage), DispatchKeySet(key), like.dtype()),
      like);
}

StorageBlock* block_behind(const Tensor& tensor) {
  if (!tensor.defined() || !is_virtual(tensor.device()) || !tensor.has_storage()) return nullptr;
  return vdev::block_of(tensor.storage().data_ptr());
}

}  // namespace

bool MetaAliases::is_plain(const Tensor& tensor) {
  return vdev::is_plain(*tensor.unsafeGetTensorImpl());
}

Tensor MetaAliases::of(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const bool on_device = is_virtual(impl.device_type());
  if (!on_device && (impl.device_type() != c10::DeviceType::CPU || impl.dim() == 0)) return tensor;
  for (const Entry& entry : entries_)
    if (entry.tensor.is_same(tensor)) return entry.stand_in;
  if (on_device && device_ < 0) device_ = impl.device().index();
  Tensor stand_in = over(memory_of(impl.storage()), DispatchKey::Meta, impl);
  if (impl.is_wrapped_number()) stand_in.unsafeGetTensorImpl()->set_wrapped_number(true);
  entries_.push_back({tensor, stand_in});
  return stand_in;
}

const c10::Storage& MetaAliases::memory_of(const c10::Storage& real) {
  for (const Memory& known : memories_)
    if (known.real.is_alias_of(real)) return known.stand_in;
  auto stand_in = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(real.nbytes()),
      c10::DataPtr(nullptr, c10::Device(c10::DeviceType::Meta)),
      c10::GetAllocator(c10::DeviceType::Meta), true);
  memories_.push_back({real, c10::Storage(std::move(stand_in))});
  return memories_.back().stand_in;
}

c10::Storage* MetaAliases::real_of(const c10::Storage& stand_in) {
  for (Memory& known : memories_)
    if (known.stand_in.is_alias_of(stand_in)) return &known.real;
  return nullptr;
}

Tensor MetaAliases::back(const Tensor& result) {
  if (!result.defined()) return result;
  for (const Entry& entry : entries_)
    if (entry.stand_in.is_same(result)) return entry.tensor;
  const TensorImpl& impl = *result.unsafeGetTensorImpl();
  if (impl.device_type() != c10::DeviceType::Meta || !impl.has_storage()) return result;
  check_dtype(result.scalar_type());
  if (const c10::Storage* real = real_of(result.storage())) {
    for (const Entry& entry : entries_) {
      if (!entry.tensor.storage().is_alias_of(*real)) continue;
      const TensorImpl& of = *entry.tensor.unsafeGetTensorImpl();
      return shaped(at::detail::make_tensor<TensorImpl>(TensorImpl::VIEW, c10::Storage(*real),
                                                        of.key_set() - kOfOneTensor, impl.dtype()),
                    impl);
    }
    return over(*real, Runtime::get().kind().dense, impl);
  }
  const c10::DeviceGuard guard(c10::Device(Runtime::get().kind().type, device()));
  const std::size_t bytes = result.storage().nbytes();
  c10::Storage storage(c10::Storage::use_byte_size_t(), static_cast<std::int64_t>(bytes),
                       device_allocator(), true);
  memories_.push_back({storage, result.storage()});
  Tensor made = over(storage, Runtime::get().kind().dense, impl);
  if (!drops_data(bytes)) {
    if (bytes != 0) std::memset(storage.mutable_data(), 0, bytes);
    mark_made_up(made);
  }
  return made;
}

void MetaAliases::write_back(const Tensor& stand_in) {
  for (Entry& entry : entries_) {
    if (!entry.stand_in.is_same(stand_in)) continue;
    TensorImpl& impl = *entry.tensor.unsafeGetTensorImpl();
    const TensorImpl& done = *stand_in.unsafeGetTensorImpl();
    c10::StorageImpl& storage = *impl.storage().unsafeGetStorageImpl();
    const std::size_t bytes = done.storage().nbytes();
    if (is_virtual(impl.device_type()) && storage.nbytes() < bytes) {
      // The twin takes the new size, and the account follows it.
      const auto twin = twin_of(storage);
      twin->set_data_ptr_noswap(c10::GetCPUAllocator()->allocate(bytes));
      twin->set_nbytes(bytes);
      follow_twin(storage);
    }
    if (impl.sizes() != done.sizes() || impl.strides() != done.strides() ||
        impl.storage_offset() != done.storage_offset())
      copy_shape(done, impl);
    return;
  }
}

c10::DeviceIndex MetaAliases::device() const {
  return device_ < 0 ? current_device() : device_;
}

bool lacks_data(const Tensor& tensor) {
  const StorageBlock* block = block_behind(tensor);
  return block != nullptr && is_phantom(block->twin->data_ptr());
}

bool is_made_up(const Tensor& tensor) {
  const StorageBlock* block = block_behind(tensor);
  return block != nullptr ? block->made_up : is_absent_on_host(tensor);
}

void mark_made_up(const Tensor& tensor) {
  if (StorageBlock* block = block_behind(tensor))
    block->made_up = true;
  else
    mark_absent_on_host(tensor);
}

bool lack_data(std::initializer_list<Tensor> tensors) {
  return is_without_data() && std::any_of(tensors.begin(), tensors.end(), &lacks_data);
}

void make_up(std::initializer_list<Tensor> results) {
  for (const Tensor& result : results) {
    if (!result.defined()) continue;
    if (!lacks_data(result)) result.zero_();
    mark_made_up(result);
  }
}

}  // namespace torchport::vdev
