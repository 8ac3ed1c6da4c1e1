#include "devices/profiles/capabilities.h"

#include <algorithm>
#include <array>

#include "devices/profile.h"

namespace torchport::devices {

namespace {

constexpr int kRegisters = 65536;
constexpr std::uint64_t kUnasked = 48 * kKiB;

// "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide, 13.0 (7.x
// and later) and 12.9 (6.x).
constexpr std::array<Limits, 15> kLimits{{
    {6, 0, 2048, kRegisters, kUnasked, 48 * kKiB, 64 * kKiB},
    {6, 1, 2048, kRegisters, kUnasked, 48 * kKiB, 96 * kKiB},
    {6, 2, 2048, kRegisters, kUnasked, 48 * kKiB, 64 * kKiB},
    {7, 0, 2048, kRegisters, kUnasked, 96 * kKiB, 96 * kKiB},
    {7, 2, 2048, kRegisters, kUnasked, 96 * kKiB, 96 * kKiB},
    {7, 5, 1024, kRegisters, kUnasked, 64 * kKiB, 64 * kKiB},
    {8, 0, 2048, kRegisters, kUnasked, 163 * kKiB, 164 * kKiB},
    {8, 6, 1536, kRegisters, kUnasked, 99 * kKiB, 100 * kKiB},
    {8, 7, 1536, kRegisters, kUnasked, 163 * kKiB, 164 * kKiB},
    {8, 9, 1536, kRegisters, kUnasked, 99 * kKiB, 100 * kKiB},
    {9, 0, 2048, kRegisters, kUnasked, 227 * kKiB, 228 * kKiB},
    {10, 0, 2048, kRegisters, kUnasked, 227 * kKiB, 228 * kKiB},
    {10, 3, 2048, kRegisters, kUnasked, 227 * kKiB, 228 * kKiB},
    {11, 0, 1536, kRegisters, kUnasked, 227 * kKiB, 228 * kKiB},
    {12, 0, 1536, kRegisters, kUnasked, 99 * kKiB, 100 * kKiB},
}};

}  // namespace

const Limits* limits_of(int major, int minor) {
  if (major == 12) minor = 0;  // 12.1 has the limits of 12.0
  const auto* const found = std::find_if(kLimits.begin(), kLimits.end(), [&](const Limits& one) {
    return one.major == major && one.minor == minor;
  });
  return found == kLimits.end() ? nullptr : found;
}

}  // namespace torchport::devices
