// c10/cuda/CUDAFunctions.h, CUDAMiscFunctions.h and CUDAException.h: devices, and errors of calls.
#include <mutex>
#include <optional>
#include <string>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAMiscFunctions.h>
#include <c10/util/Exception.h>

#include "runtime/torch_cuda/devices.h"

namespace c10::cuda {

DeviceIndex device_count() noexcept {
  return virtual_devices().deviceCount();
}

DeviceIndex device_count_ensure_non_zero() {
  const DeviceIndex count = device_count();
  TORCH_CHECK(count > 0, "No CUDA GPUs are available");
  return count;
}

DeviceIndex current_device() {
  return virtual_devices().getDevice().index();
}

void set_device(DeviceIndex device, const bool /*force*/) {
  C10_CUDA_CHECK(SetDevice(device));
}

void device_synchronize() {
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  virtual_devices().synchronizeDevice(current_device());
}

void warn_or_error_on_sync() {
  if (warning_state().get_sync_debug_mode() == SyncDebugMode::L_ERROR) {
    TORCH_CHECK(false, "called a synchronizing CUDA operation");
  } else if (warning_state().get_sync_debug_mode() == SyncDebugMode::L_WARN) {
    TORCH_WARN("called a synchronizing CUDA operation");
  }
}

cudaError_t GetDeviceCount(int* dev_count) {
  *dev_count = int{device_count()};
  return *dev_count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t GetDevice(DeviceIndex* device) {
  *device = current_device();
  return cudaSuccess;
}

cudaError_t SetDevice(DeviceIndex device, const bool /*force*/) {
  if (device < 0 || device >= device_count()) return cudaErrorInvalidDevice;
  virtual_devices().setDevice(Device(DeviceType::CUDA, device));
  return cudaSetDevice(device);
}

cudaError_t MaybeSetDevice(DeviceIndex device) {
  return SetDevice(device, false);
}

DeviceIndex ExchangeDevice(DeviceIndex device) {
  const DeviceIndex before = current_device();
  if (before != device) C10_CUDA_CHECK(SetDevice(device, false));
  return before;
}

DeviceIndex MaybeExchangeDevice(DeviceIndex device) {
  return ExchangeDevice(device);
}

void SetTargetDevice() {}

bool hasPrimaryContext(DeviceIndex device_index) {
  TORCH_CHECK(
      device_index >= 0 && device_index < device_count(),
      "hasPrimaryContext expects a valid device index, but got device_index=", device_index);
  return true;
}

std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext() {
  return current_device();
}

// ---- errors ----

const char* get_cuda_check_suffix() noexcept {
  return "\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1";
}

std::mutex* getFreeMutex() {
  static std::mutex mutex;
  return &mutex;
}

void c10_cuda_check_implementation(const int32_t err, const char* filename,
                                   const char* function_name, const uint32_t line_number,
                                   const bool /*include_device_assertions*/) {
  const auto error = static_cast<cudaError_t>(err);
  if (C10_LIKELY(error == cudaSuccess)) return;
  (void)cudaGetLastError();  // it is told here
  throw c10::AcceleratorError(
      {function_name, filename, line_number}, err,
      std::string("CUDA error: ") + cudaGetErrorString(error) + get_cuda_check_suffix());
}

}  // namespace c10::cuda
