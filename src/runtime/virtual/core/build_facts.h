// What the runtime knows of the torch that it is built against. Which CUDA and which cuDNN its
// builds have comes from python/torchport/torch_releases.json when this is compiled
// (cuda_builds.py): the library goes with one version of torch anyway, so reading the table at run
// time would only cost every program its start. python/torchport/virtual/_builds.py has what Python
// sees of them.
//
// One source serves builds with CUDA and without. A build with CUDA has hooks, an allocator, a
// guard, a timer and kernels of a real device; ours are put over them once that library is loaded,
// which is what kOverReal is for. A build without has none, and nothing else is different.
#pragma once

#include <cstdint>

#include <c10/util/Registry.h>

namespace torchport::vdev {

// c10's registries keep what has the higher priority; two of the same end the process.
inline constexpr c10::RegistryPriority kOverReal = c10::REGISTRY_PREFERRED;
// CUDA's allocator has 1.
inline constexpr std::uint8_t kAllocatorOverReal = 2;

struct CudaBuild {
  long cuda;   // 13000: CUDA 13.0
  long cudnn;  // 92000: cuDNN 9.20.0; 0 where it is unknown
  int oldest;  // compute capability that it has kernels for: 75 is 7.5
};

// The build that one would install for a device of this compute capability, as
// torchport._releases.cuda_build_for() chooses it. Thread safe.
[[nodiscard]] const CudaBuild& cuda_build_for(int major, int minor);

}  // namespace torchport::vdev

// The torch that the library was built against, to be found in the file without loading it: its ABI
// is that version's.
#define TORCHPORT_BUILT_FOR "torchport: built for torch " TORCHPORT_TORCH_VERSION ";"
