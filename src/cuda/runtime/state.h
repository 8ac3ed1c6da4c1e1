// What the functions of CUDA's runtime share: the last error of each thread, the error that ends the
// use of a device, the kernel that is called next.
#pragma once

#include <string>

#include "cuda/device/launch.h"

namespace torchport::cuda {

// Errors are those of cudaError_t. Thread safe.

// Notes an error of a call for cudaGetLastError, and returns it.
int noted(int error);
// The last error of this thread; 0: none. `forget`: as cudaGetLastError. An error of the device stays.
int last_error(bool forget);
// The error of a kernel, after which a device does nothing: each call has it. 0: none.
int device_error();
// A kernel ended with an error. Programs see it when they wait for the device; `text` goes to the
// standard error at once.
void set_device_error(int error, const std::string& kernel, const std::string& text);
// What a function that waits for the device, or uses it, returns first: the device's error.
int device_status();

// Calls a kernel of any type with the addresses of its arguments.
int call_with(const void* function, const Sizes& sizes, void** arguments);
// The same number for each address of one kernel.
const void* identity_of(const void* function);

// What cudaFuncSetAttribute set for a kernel.
struct KernelSettings {
  std::size_t most_dynamic_shared = 48 * 1024;
  int preferred_carveout = -1;
};
KernelSettings settings_of(const void* identity);
void set_settings(const void* identity, const KernelSettings& settings);

}  // namespace torchport::cuda
