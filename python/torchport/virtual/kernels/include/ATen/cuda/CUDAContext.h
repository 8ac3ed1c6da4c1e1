// Streams and checks of PyTorch, for kernels on the host.
#pragma once

#include "torchport_host.h"

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

namespace c10::cuda {
// Under names of their own: a build of torch with CUDA has functions of these, and the loader would
// bind to those.
inline namespace torchport_host {

struct CUDAStream {
  [[nodiscard]] cudaStream_t stream() const { return nullptr; }
  operator cudaStream_t() const { return nullptr; }  // NOLINT(google-explicit-constructor)
};
inline CUDAStream getCurrentCUDAStream(c10::DeviceIndex = -1) { return {}; }
inline CUDAStream getDefaultCUDAStream(c10::DeviceIndex = -1) { return {}; }
inline CUDAStream getStreamFromPool(bool = false, c10::DeviceIndex = -1) { return {}; }

class CUDAGuard {
 public:
  explicit CUDAGuard(c10::Device device) : guard_(device) {}
  explicit CUDAGuard(c10::DeviceIndex index) : guard_(c10::Device(c10::DeviceType::CUDA, index)) {}

 private:
  c10::DeviceGuard guard_;
};
class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<c10::Device> device) : guard_(device) {}

 private:
  c10::OptionalDeviceGuard guard_;
};

}  // namespace torchport_host
}  // namespace c10::cuda

namespace at::cuda {

using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::OptionalCUDAGuard;

template <class T, class U>
T ATenCeilDiv(T a, U b) {
  return (a + b - 1) / b;
}

}  // namespace at::cuda

#define C10_CUDA_CHECK(expression) TORCH_CHECK((expression) == cudaSuccess, "CUDA error")
#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)
#define CUDA_KERNEL_LOOP(i, n) \
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < (n); \
       i += std::int64_t{blockDim.x} * gridDim.x)
