// Manages the storage of virtual devices.
//
// Every storage of a virtual device has a *twin*: a CPU storage that owns the bytes. Kernels run on
// tensors over the twin, so nothing is copied. Whatever keeps such a tensor after its call keeps
// the bytes alive. The device's storage holds a reference to its twin and the account of its block
// in the memory model, and releases both when it is destroyed.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/Stream.h>
#include <c10/util/intrusive_ptr.h>

namespace torchport::vdev {

// The allocator of the virtual devices; allocate() takes memory of the current one. Raises
// c10::OutOfMemoryError with the real device's message if the device is full. Thread safe.
[[nodiscard]] c10::Allocator* device_allocator();

// Implements torch.cuda.empty_cache(): empties the caches of all devices, and what the host keeps
// for them.
void empty_caches();

// The CPU storage under a virtual device's storage. A storage that was made around foreign memory
// (from_blob) gets a twin that does not own the memory.
[[nodiscard]] c10::intrusive_ptr<c10::StorageImpl> twin_of(c10::StorageImpl& storage);

// The address of a storage's block in the memory model; 0 if it has none.
[[nodiscard]] std::uint64_t block_address(const c10::StorageImpl& storage);

// Implements Tensor.record_stream() and what autograd calls for it.
void record_stream(const c10::DataPtr& pointer, const c10::Stream& stream);

// Makes a device storage over the bytes of a CPU storage. If `charged`, they are charged to the
// device; otherwise they belong to another process's account. Raises c10::OutOfMemoryError.
[[nodiscard]] c10::Storage adopt(const c10::Storage& cpu, c10::DeviceIndex device,
                                 bool charged = true);

// Updates a device storage, and its account, after a kernel resized or replaced its twin's memory.
// Raises c10::OutOfMemoryError.
void follow_twin(c10::StorageImpl& storage);

// A storage with the same bytes that is copied on write: whichever of the two is written first
// (mutable_data) gets memory of its own, and is charged for it. Null if the storage has no bytes,
// or not those of a virtual device. As PyTorch's own c10::impl::cow::lazy_clone_storage(), which
// takes only memory whose context is its address. Thread safe.
[[nodiscard]] c10::intrusive_ptr<c10::StorageImpl> lazy_clone_of(c10::StorageImpl& storage);

}  // namespace torchport::vdev
