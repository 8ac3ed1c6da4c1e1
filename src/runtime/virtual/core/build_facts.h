// What the runtime knows of versions and builds of torch; python/torchport/virtual/_builds.py has
// the rest: which are supported, what of them Python sees.
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

// The default builds of torch 2.12 and 2.13 are for CUDA 13.0, with cuDNN 9.20.
inline constexpr long kCUDA = 13000;
inline constexpr long kCuDNN = 92000;

}  // namespace torchport::vdev

// The torch that the library was built against, to be found in the file without loading it: its ABI
// is that version's.
#define TORCHPORT_BUILT_FOR "torchport: built for torch " TORCHPORT_TORCH_VERSION ";"
