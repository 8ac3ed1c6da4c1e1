// Sizes that every device of compute capability 3.0 and later takes (CUDA's programming guide, the
// table of technical specifications), and the limits of cudaDeviceSetLimit.
#pragma once

#include <array>
#include <cstddef>

#include "devices/profile.h"

namespace torchport::cuda {

inline constexpr unsigned kMostGridX = 2147483647U;
inline constexpr unsigned kMostGridYZ = 65535U;
inline constexpr unsigned kMostBlockXY = 1024U;
inline constexpr unsigned kMostBlockZ = 64U;

// By cudaLimit, of a device that was not asked for others.
std::array<std::size_t, 7> first_limits(const devices::Profile& profile);
// Bytes that one block of a kernel has of shared memory beside its own.
inline std::size_t reserved_shared(const devices::Profile& profile) {
  return profile.major >= 8 ? 1024 : 0;
}
// An attribute by the number of cudaDeviceAttr; false if there is none.
bool attribute_of(const devices::Profile& profile, int device, int which, int& value);

}  // namespace torchport::cuda
