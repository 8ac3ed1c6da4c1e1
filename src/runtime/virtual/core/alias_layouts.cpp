// Makes aliases of tensors that are not one strided piece of memory: sparse tensors (COO and the
// compressed layouts) consist of dense ones, nested tensors know where their parts lie, and
// quantized tensors have a quantizer.
#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/native/SparseTensorUtils.h>
#include <ATen/quantized/QTensorImpl.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/TensorImpl.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"

namespace torchport::vdev {

namespace {

using at::QTensorImpl;
using at::SparseCsrTensorImpl;
using at::SparseTensorImpl;
using at::Tensor;
using at::native::NestedTensorImpl;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::TensorImpl;

Tensor coo(DispatchKey key, const SparseTensorImpl& like, const Tensor& indices,
           const Tensor& values) {
  // It is created on the current device and stays there.
  const c10::DeviceGuard guard(values.device());
  Tensor tensor = at::detail::make_tensor<SparseTensorImpl>(DispatchKeySet(key), values.dtype());
  auto* own = at::sparse::get_sparse_impl(tensor);
  own->resize_(like.sparse_dim(), like.dense_dim(), like.sizes());
  own->set_indices_and_values_unsafe(indices, values);
  own->set_nnz_and_narrow(like.nnz());
  own->set_coalesced(like.coalesced());
  return tensor;
}

SparseCsrTensorImpl* compressed_impl(const Tensor& tensor) {
  return at::sparse_csr::get_sparse_csr_impl(tensor);
}

Tensor compressed(DispatchKey key, const SparseCsrTensorImpl& like, const Tensor& rows,
                  const Tensor& columns, const Tensor& values) {
  Tensor tensor = at::detail::make_tensor<SparseCsrTensorImpl>(DispatchKeySet(key), values.device(),
                                                               like.layout(), values.dtype());
  compressed_impl(tensor)->set_member_tensors(rows, columns, values, like.sizes());
  return tensor;
}

// Makes a nested tensor over a storage. Its sizes, strides and offsets are always on the CPU.
Tensor nested(c10::Storage storage, DispatchKey dense, const NestedTensorImpl& like) {
  const auto elements = static_cast<std::int64_t>(storage.nbytes() / like.dtype().itemsize());
  Tensor buffer =
      at::detail::make_tensor<TensorImpl>(std::move(storage), DispatchKeySet(dense), like.dtype());
  buffer.unsafeGetTensorImpl()->set_sizes_contiguous({elements});
  return at::detail::make_tensor<NestedTensorImpl>(
      buffer, like.get_nested_sizes(), like.get_nested_strides(), like.get_storage_offsets());
}

Tensor quantized(c10::Storage storage, DispatchKey key, const TensorImpl& like,
                 at::QuantizerPtr quantizer) {
  Tensor tensor = at::detail::make_tensor<QTensorImpl>(std::move(storage), DispatchKeySet(key),
                                                       like.dtype(), std::move(quantizer));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(),
                                                      like.storage_offset());
  return tensor;
}

}  // namespace

// The quantizer of a tensor, with the quantizer's own tensors (scales of channels) on the other
// side.
at::QuantizerPtr Aliases::quantizer_with(const Tensor& tensor, bool on_device) {
  at::QuantizerPtr quantizer = static_cast<QTensorImpl*>(tensor.unsafeGetTensorImpl())->quantizer();
  const auto* channels = dynamic_cast<at::PerChannelAffineQuantizer*>(quantizer.get());
  if (channels == nullptr) return quantizer;
  const Tensor scales = channels->scales();
  const Tensor points = channels->zero_points();
  return at::make_per_channel_affine_quantizer(on_device ? back(scales) : of(scales),
                                               on_device ? back(points) : of(points),
                                               channels->axis(), tensor.scalar_type());
}

Tensor Aliases::nested_of(const Tensor& tensor) {
  const auto* impl = at::native::get_nested_tensor_impl(tensor);
  // A kernel may return these, and they stay on the CPU.
  host_.push_back(impl->get_nested_sizes());
  host_.push_back(impl->get_nested_strides());
  host_.push_back(impl->get_storage_offsets());
  return nested(
      c10::Storage(twin_of(*impl->get_unsafe_storage_as_tensor().storage().unsafeGetStorageImpl())),
      DispatchKey::CPU, *impl);
}

Tensor Aliases::nested_back(const Tensor& result) {
  return nested(storage_for(result), Runtime::get().kind().dense,
                *at::native::get_nested_tensor_impl(result));
}

Tensor Aliases::layout_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (impl.is_sparse()) {
    const auto* own = at::sparse::get_sparse_impl(tensor);
    return coo(DispatchKey::SparseCPU, *own, of(own->indices()), of(own->values()));
  }
  if (impl.is_sparse_compressed()) {
    const auto* own = compressed_impl(tensor);
    return compressed(DispatchKey::SparseCsrCPU, *own, of(own->compressed_indices()),
                      of(own->plain_indices()), of(own->values()));
  }
  if (impl.is_nested() && !impl.is_python_dispatch()) return nested_of(tensor);
  // A plain tensor whose storage was taken away says why, in the words that it was given.
  if (!impl.has_storage() && typeid(impl) == typeid(TensorImpl)) static_cast<void>(impl.storage());
  TORCH_CHECK_NOT_IMPLEMENTED(impl.is_quantized(), "torchport: tensors of the kind ",
                              impl.key_set(), " are not supported by virtual devices");
  return quantized(c10::Storage(twin_of(*impl.storage().unsafeGetStorageImpl())),
                   DispatchKey::QuantizedCPU, impl, quantizer_with(tensor, false));
}

Tensor Aliases::layout_back(const Tensor& result) {
  const KindKeys& kind = Runtime::get().kind();
  const TensorImpl& impl = *result.unsafeGetTensorImpl();
  if (impl.is_sparse()) {
    const auto* own = at::sparse::get_sparse_impl(result);
    return coo(kind.sparse, *own, back(own->indices()), back(own->values()));
  }
  if (impl.is_sparse_compressed()) {
    const auto* own = compressed_impl(result);
    return compressed(kind.sparse_csr, *own, back(own->compressed_indices()),
                      back(own->plain_indices()), back(own->values()));
  }
  if (impl.is_nested() && !impl.is_python_dispatch()) return nested_back(result);
  if (impl.is_quantized())
    return quantized(storage_for(result), kind.quantized, impl, quantizer_with(result, true));
  return result;
}

// Returns whether the tensor has one of these layouts; if so, it is written back.
bool Aliases::layout_write_back(const Tensor& alias, const Tensor& tensor) {
  const TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  // Kernels resize the parts of a sparse result in place. What it has afterwards is such a part, or
  // a view of one, so that a part's memory on the device has to be right first.
  const auto write_back_parts = [this](std::initializer_list<Tensor> parts) {
    for (const Tensor& part : parts) {
      for (const Entry& entry : entries_) {
        if (entry.tensor->is_same(part)) write_back(entry.alias);
      }
    }
  };
  if (impl.is_sparse()) {
    const auto* from = at::sparse::get_sparse_impl(alias);
    auto* to = at::sparse::get_sparse_impl(tensor);
    write_back_parts({to->indices(), to->values()});
    to->raw_resize_(from->sparse_dim(), from->dense_dim(), alias.sizes());
    to->set_indices_and_values_unsafe(back(from->indices()), back(from->values()));
    to->set_nnz_and_narrow(from->nnz());
    to->set_coalesced(from->coalesced());
    return true;
  }
  if (impl.is_sparse_compressed()) {
    const auto* from = compressed_impl(alias);
    const auto* to = compressed_impl(tensor);
    write_back_parts({to->compressed_indices(), to->plain_indices(), to->values()});
    compressed_impl(tensor)->set_member_tensors(back(from->compressed_indices()),
                                                back(from->plain_indices()), back(from->values()),
                                                alias.sizes());
    return true;
  }
  return impl.is_nested() || !impl.has_storage();
}

}  // namespace torchport::vdev
