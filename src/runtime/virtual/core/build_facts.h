// Holds facts about the torch that this library is built against.
//
// The CUDA and cuDNN versions of its builds are compiled in from
// python/torchport/torch_releases.json (cuda_builds.py). Reading the table at run time was
// rejected: the library fits only one version of torch anyway, and every program would start more
// slowly. python/torchport/virtual/_builds.py has the part that Python sees.
//
// One source serves builds with CUDA and builds without. A build with CUDA has hooks, an allocator,
// a guard, a timer and kernels for a real device. Ours are registered over them (kOverReal) after
// that library is loaded. A build without CUDA has none of these; there is no other difference.
#pragma once

#include <cstdint>
#include <string_view>

#include <c10/util/Registry.h>

namespace torchport::vdev {

// c10's registries keep the entry of the higher priority. Two entries of the same priority end the
// process.
inline constexpr c10::RegistryPriority kOverReal = c10::REGISTRY_PREFERRED;
// Above CUDA's own allocator, which has priority 1.
inline constexpr std::uint8_t kAllocatorOverReal = 2;

struct CudaBuild {
  long cuda;              // 13000: CUDA 13.0
  long cudnn;             // 92000: cuDNN 9.20.0; 0 if unknown
  std::string_view nccl;  // "2.28.9"; empty if unknown
  int oldest;             // the oldest compute capability that it has kernels for: 75 is 7.5
};

// The build that a user would install for a device of this compute capability.
// torchport._releases.cuda_build_for() chooses in the same way. Thread safe.
[[nodiscard]] const CudaBuild& cuda_build_for(int major, int minor);

}  // namespace torchport::vdev
