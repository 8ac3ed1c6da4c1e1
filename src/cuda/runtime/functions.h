// What the runtime knows of kernels.
#pragma once

#include <cstddef>

#include "cuda/device/launch.h"
#include "driver_types.h"

namespace torchport::cuda {

// What cudaFuncSetAttribute set for a kernel. The default of the dynamic shared memory is what 48
// KiB leave beside its own.
struct KernelSettings {
  long most_dynamic_shared = -1;
  int carveout = -1;
  bool large_clusters = false;
  ::dim3 cluster{0, 0, 0};
};

// Finds the kernel of an address, without a launch. Returns a cudaError_t: for null
// cudaErrorInvalidDeviceFunction, for an address that is no function
// cudaErrorInvalidResourceHandle.
int find_kernel(const void* function, Kernel& kernel);
// The bytes of dynamic shared memory that a launch of a kernel may have.
std::size_t most_dynamic_shared(const Kernel& kernel);
KernelSettings settings_of(const Kernel& kernel);
void set_settings(const Kernel& kernel, const KernelSettings& settings);

// The blocks of a kernel that one multiprocessor of the current device runs at once; 0 if none.
int blocks_at_once(const Kernel& kernel, int threads, std::size_t shared);

// The error of a launch that no device takes; 0 if there is none. `cluster` of x 0: none was given.
int check_launch(const Kernel& kernel, Sizes& sizes, const ::dim3* cluster);
// Registers that a kernel is said to use: a host's compiler does not know.
inline constexpr int kRegisters = 32;

}  // namespace torchport::cuda
