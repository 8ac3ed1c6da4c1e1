// c10/cuda/CUDADeviceAssertionHost.h: launches with TORCH_DSA_KERNEL_LAUNCH. They are not recorded,
// as in a build of PyTorch without TORCH_USE_CUDA_DSA.
#include <string>
#include <utility>
#include <vector>

#include <c10/cuda/CUDADeviceAssertionHost.h>

namespace c10::cuda {

CUDAKernelLaunchRegistry::CUDAKernelLaunchRegistry() = default;

uint32_t CUDAKernelLaunchRegistry::insert(const char* /*file*/, const char* /*function*/,
                                          const uint32_t /*line*/, const char* /*kernel*/,
                                          const int32_t /*stream*/) {
  return 0;
}

std::pair<std::vector<DeviceAssertionsData>, std::vector<CUDAKernelLaunchInfo>>
CUDAKernelLaunchRegistry::snapshot() const {
  return {};
}

DeviceAssertionsData* CUDAKernelLaunchRegistry::get_uvm_assertions_ptr_for_current_device() {
  return nullptr;
}

CUDAKernelLaunchRegistry& CUDAKernelLaunchRegistry::get_singleton_ref() {
  static CUDAKernelLaunchRegistry one;
  return one;
}

bool CUDAKernelLaunchRegistry::has_failed() const {
  return false;
}

std::string c10_retrieve_device_side_assertion_info() {
  return "Device-side assertion tracking was not enabled by user.";
}

}  // namespace c10::cuda
