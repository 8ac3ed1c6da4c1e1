// The errors of CUDA's runtime that a call may raise, with their words: those of
// cudaGetErrorString() and of c10/cuda/CUDAException.cpp.
#pragma once

#include <cstdint>

namespace torchport::vdev {

// The values are those of cudaError_t.
enum class RuntimeError : std::uint16_t {
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kMapBufferObjectFailed = 205,
  kInvalidResourceHandle = 400,
  kIllegalState = 401,
  kNotReady = 600,
  kIllegalAddress = 700,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
};

// Raises c10::AcceleratorError. Thread safe.
[[noreturn]] void raise_runtime_error(RuntimeError error);

}  // namespace torchport::vdev
