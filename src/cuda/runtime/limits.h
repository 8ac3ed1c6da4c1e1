// Sizes that every device of compute capability 3.0 and later takes (CUDA's programming guide, the
// table of technical specifications), and the errors of those that it does not take.
#pragma once

namespace torchport::cuda {

inline constexpr unsigned kMostGridX = 2147483647U;
inline constexpr unsigned kMostGridYZ = 65535U;
inline constexpr unsigned kMostBlockXY = 1024U;
inline constexpr unsigned kMostBlockZ = 64U;

inline constexpr int kInvalidValue = 1;
inline constexpr int kInvalidConfiguration = 9;

}  // namespace torchport::cuda
