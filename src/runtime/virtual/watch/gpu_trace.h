// Tells the callbacks of torch.cuda._gpu_trace what happens on the devices: streams, events,
// memory and waits, as PyTorch's own code for CUDA does. PyTorch's sanitizer for streams
// (TORCH_CUDA_SANITIZER=1) is written on them.
//
// Which call tells what follows c10/cuda (CUDAStream.cpp, CUDACachingAllocator.cpp, CUDAFunctions)
// and ATen/cuda/CUDAEvent.h.
#pragma once

#include <c10/core/impl/GPUTrace.h>

#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

// Whether torch._C._activate_gpu_trace() was called, and the devices are of a kind that has
// callbacks.
[[nodiscard]] inline bool gpu_is_traced() {
  return C10_UNLIKELY(c10::impl::GPUTrace::get_trace() != nullptr) &&
         Runtime::get().kind().type == c10::DeviceType::CUDA;
}

// Calls `tell(python, device type)` if somebody traces; `python` has the functions trace_gpu_*.
// These take Python's lock, so the caller holds no lock of its own. Thread safe.
template <class Tell>
void trace_gpu(const Tell& tell) {
  if (gpu_is_traced()) tell(*c10::impl::GPUTrace::get_trace(), Runtime::get().kind().type);
}

}  // namespace torchport::vdev
