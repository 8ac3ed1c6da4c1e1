// The errors of cudaError_t that kernels end with (driver_types.h has all of them).
#pragma once

namespace torchport::cuda {

inline constexpr int kIllegalAddress = 700;
inline constexpr int kLaunchTimeout = 702;
inline constexpr int kDeviceAssert = 710;
inline constexpr int kHardwareStack = 714;
inline constexpr int kIllegalInstruction = 715;
inline constexpr int kMisaligned = 716;
inline constexpr int kLaunchFailure = 719;

}  // namespace torchport::cuda
