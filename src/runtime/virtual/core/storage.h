// Storage on virtual devices.
//
// Every storage of a virtual device has a *twin*: a CPU storage that owns the bytes. Kernels run on
// tensors over the twin, nothing is copied, and whatever keeps such a tensor beyond its call keeps
// the bytes alive. The device's storage holds a reference to its twin and the account of its block;
// both end with it.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

namespace torchport::vdev {

// The allocator of the virtual devices; allocate() takes from the current one. Raises
// c10::OutOfMemoryError with the real message where the device is full. Thread-safe.
[[nodiscard]] c10::Allocator* device_allocator();

// torch.cuda.empty_cache(): all devices' caches, and what the host keeps for them.
void empty_caches();

// The CPU storage under a virtual device's storage. A storage that was made around foreign memory
// (from_blob) gets a twin that does not own it.
[[nodiscard]] c10::intrusive_ptr<c10::StorageImpl> twin_of(c10::StorageImpl& storage);

// A device storage over a CPU storage: the same bytes. They are charged to the device, or belong to
// another process's account. Raises c10::OutOfMemoryError.
[[nodiscard]] c10::Storage adopt(c10::Storage cpu, c10::DeviceIndex device, bool charged = true);

// After a kernel resized or replaced the twin's memory: the device's storage follows, and its
// account too. Raises c10::OutOfMemoryError.
void follow_twin(c10::StorageImpl& storage);

}  // namespace torchport::vdev
