// ATen/cuda/CUDAContextLight.h: properties of devices, handles of libraries.
#include <map>
#include <mutex>

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/Exceptions.h>
#include <c10/core/Allocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>

#include "runtime/torch_cuda/torch_releases.h"

namespace at::cuda {

cudaDeviceProp* getDeviceProperties(c10::DeviceIndex device) {
  static std::mutex mutex;
  static auto* known = new std::map<c10::DeviceIndex, cudaDeviceProp>;
  if (device == -1) device = c10::cuda::current_device();
  TORCH_CHECK(device >= 0 && device < c10::cuda::device_count(), "device=", int{device},
              ", num_gpus=", int{c10::cuda::device_count()});
  const std::scoped_lock lock(mutex);
  const auto [found, is_new] = known->try_emplace(device);
  if (is_new) C10_CUDA_CHECK(cudaGetDeviceProperties(&found->second, device));
  return &found->second;
}

cudaDeviceProp* getCurrentDeviceProperties() {
  return getDeviceProperties(c10::cuda::current_device());
}

int warp_size() {
  return getCurrentDeviceProperties()->warpSize;
}

bool canDeviceAccessPeer(c10::DeviceIndex device, c10::DeviceIndex peer_device) {
  int can = 0;
  C10_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, peer_device));
  return can != 0;
}

c10::Allocator* getCUDADeviceAllocator() {
  return c10::GetAllocator(c10::DeviceType::CUDA);
}

cublasHandle_t getCurrentCUDABlasHandle(TORCHPORT_BLAS_SETUP) {
  thread_local cublasHandle_t handle = nullptr;
  if (handle == nullptr) TORCH_CUDABLAS_CHECK(cublasCreate(&handle));
  return handle;
}

cublasLtHandle_t getCurrentCUDABlasLtHandle() {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "torchport: virtual devices have no cuBLASLt for extensions");
}

cusparseHandle_t getCurrentCUDASparseHandle() {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "torchport: virtual devices have no cuSPARSE for extensions");
}

cusolverDnHandle_t getCurrentCUDASolverDnHandle() {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "torchport: virtual devices have no cuSOLVER for extensions");
}

void clearCublasWorkspaces() {}

size_t getChosenWorkspaceSize() {
  return 0;
}

namespace blas {
C10_EXPORT const char* _cublasGetErrorEnum(cublasStatus_t error) {
  return cublasGetStatusName(error);
}
}  // namespace blas

}  // namespace at::cuda
