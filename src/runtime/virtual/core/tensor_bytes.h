// Where the bytes of storages are, for the checker of kernels (torchport run --check-kernels),
// which asks by address. Nothing is noted in a process without it.
#pragma once

#include <cstddef>

#include <c10/core/TensorImpl.h>

#include "runtime/device/cuda_devices.h"

namespace torchport::vdev {

// All functions are thread safe.
void note_bytes(const void* begin, std::size_t bytes);
void forget_bytes(const void* begin);
// The first tensor over a storage whose bytes begin there. A nested one has no sizes, and no words.
void note_shape(const void* begin, const c10::TensorImpl& tensor);

// As cuda::Devices::find_bytes and describe_bytes.
bool find_bytes(const void* address, cuda::TensorBytes* found);
bool describe_bytes(const void* address, cuda::TensorBytes* found, char* text, std::size_t room);

}  // namespace torchport::vdev
