// What the functions of CUDA's runtime share: the last error of each thread, the state of each
// device, the kernel that is called next.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/device/launch.h"
#include "cuda_runtime_api.h"
#include "devices/profile.h"

namespace torchport::cuda {

// Errors are those of cudaError_t. Thread safe.

// Notes an error of a call for cudaGetLastError, and returns it. cudaErrorNotReady is not an error.
int noted(int error);
inline cudaError_t told(int error) {
  return static_cast<cudaError_t>(noted(error));
}
// The last error of this thread; 0: none. `forget`: as cudaGetLastError.
int last_error(bool forget);

// One device of this process. It is made at the first use and never destroyed.
struct DeviceState {
  int index = 0;
  const devices::Profile* profile = nullptr;
  std::uint64_t memory = 0;             // bytes
  std::array<std::size_t, 7> limits{};  // by cudaLimit
  unsigned flags = cudaDeviceMapHost;
  cudaFuncCache cache = cudaFuncCachePreferNone;
  std::uint64_t peers = 0;                   // bit i: may use the memory of device i
  std::atomic<bool> active = false;          // there is a primary context
  std::atomic<int> error = 0;                // of a kernel: each call that uses the device has it
  std::atomic<bool> error_is_known = false;  // a call has waited since
  std::atomic<bool> unavailable = false;     // it was reset after an error
};

// The devices that TORCHPORT_VIRTUAL names; one of CUDA's if the variable is not set.
int count_of_devices();
DeviceState& device_state(int device);
inline bool is_device(int device) {
  return device >= 0 && device < count_of_devices();
}
// Of this thread of the host.
int current_device();
int set_current_device(int device);  // a cudaError_t
DeviceState& current_state();

// What a call that uses the current device returns first: the error of a kernel. Makes the device's
// context. A call that waits for the device also lets what kernels print appear.
int use_device();
int wait_for_device();
// Whether this thread of the host has used a device by the runtime, or PyTorch may have: then it
// has a context.
bool uses_device_on_this_thread();
// A kernel ended with an error. Programs see it when they wait for the device; `text` goes to the
// standard error at once.
void set_device_error(int device, int error, const std::string& kernel, const std::string& text);

// Calls a kernel of any type with the addresses of its arguments.
// `cluster`: the size of clusters that the launch asks for; null: none.
int call_with(const void* function, const Sizes& sizes, void** arguments,
              const ::dim3* cluster = nullptr);

}  // namespace torchport::cuda
