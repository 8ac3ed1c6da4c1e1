// The attributes of a device by their numbers. Those of an H100 are recorded (tests/fidelity,
// program device_facts); of other devices those differ that the profile or the compute capability
// says.
#include <algorithm>
#include <array>

#include "cuda/runtime/limits.h"
#include "driver_types.h"

namespace torchport::cuda {

namespace {

// From attribute 1 on.
constexpr std::array<int, 147> kOfH100{
    1024,      1024,       1024,   64,        2147483647, 65535,     65535,  49152, 65536,
    32,        2147483647, 65536,  1980000,   512,        1,         132,    0,     0,
    1,         0,          131072, 131072,    65536,      16384,     16384,  16384, 32768,
    32768,     2048,       512,    1,         1,          -1,        -1,     0,     2619000,
    5120,      52428800,   2048,   3,         1,          32768,     2048,   1,     32768,
    32768,     8192,       8192,   32768,     -1,         32,        32768,  32768, 2046,
    32768,     131072,     65536,  16384,     16384,      16384,     32768,  2048,  32768,
    32768,     2048,       32768,  32768,     2046,       268435456, 131072, 65000, 2097120,
    32768,     32768,      9,      0,         32768,      1,         1,      1,     233472,
    65536,     1,          0,      0,         0,          2,         0,      1,     1,
    1,         0,          0,      0,         1,          1,         232448, 0,     1,
    0,         0,          1,      1,         0,          0,         32,     1,     32768000,
    134217728, 1,          1024,   1,         1,          1,         1,      1,     1,
    100,       9,          1,      1,         1,          1,         1,      1,     4,
    1,         1,          1,      0,         -1,         0,         0,      0,     0,
    0,         0,          0,      590352606, 381751518,  1,         1,      0,     1,
    1,         0,          0,
};

// Blocks that are on a multiprocessor at once (CUDA's programming guide, technical specifications).
int most_blocks(int capability) {
  switch (capability) {
    case 75:
    case 86:
    case 87:
      return 16;
    case 89:
    case 110:
    case 120:
    case 121:
      return 24;
    default:
      return 32;
  }
}

// Additions of float32 for one of float64 (the same guide, throughput of arithmetic instructions).
int singles_to_a_double(int capability) {
  switch (capability) {
    case 61:
    case 62:
    case 75:
      return 32;
    case 86:
    case 89:
    case 120:
    case 121:
      return 64;
    default:
      return 2;
  }
}

constexpr int kPciBusOfFirst = 0x1a;

}  // namespace

bool attribute_of(const devices::Profile& profile, int device, int which, int& value) {
  if (which < 1 || which > static_cast<int>(kOfH100.size())) return false;
  const int capability = profile.major * 10 + profile.minor;
  value = kOfH100[static_cast<std::size_t>(which) - 1];
  switch (which) {
    case cudaDevAttrMaxSharedMemoryPerBlock:
      value = static_cast<int>(profile.shared_memory_per_block);
      break;
    case cudaDevAttrClockRate:
      value = profile.clock_khz;
      break;
    case cudaDevAttrMultiProcessorCount:
      value = profile.multiprocessors;
      break;
    case cudaDevAttrMemoryClockRate:
      value = profile.memory_clock_khz;
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      value = profile.memory_bus_bits;
      break;
    case cudaDevAttrL2CacheSize:
      value = static_cast<int>(profile.l2_cache);
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      value = profile.max_threads_per_multiprocessor;
      break;
    case cudaDevAttrPciBusId:
      value = kPciBusOfFirst + device;
      break;
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
      value = 0;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      value = profile.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      value = profile.minor;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      value = static_cast<int>(profile.shared_memory_per_multiprocessor);
      break;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      value = profile.registers_per_multiprocessor;
      break;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      value = singles_to_a_double(capability);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      value = static_cast<int>(profile.shared_memory_per_block_optin);
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      value = most_blocks(capability);
      break;
    case cudaDevAttrMaxPersistingL2CacheSize:
      value = profile.major >= 8 ? static_cast<int>(profile.l2_cache / 8 * 5) : 0;
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      value = static_cast<int>(reserved_shared(profile));
      break;
    case cudaDevAttrClusterLaunch:
      value = profile.major >= 9 ? 1 : 0;
      break;
    case cudaDevAttrGpuPciDeviceId:
    case cudaDevAttrGpuPciSubsystemId:
      if (profile.name != "h100-80g") value = 0;
      break;
    default:
      break;
  }
  return true;
}

std::array<std::size_t, 7> first_limits(const devices::Profile& profile) {
  const std::size_t persisting = profile.major >= 8 ? profile.l2_cache / 8 * 5 / 10 * 3 : 0;
  return {1024, 8650752, 8388608, 0, 2048, 64, persisting};
}

}  // namespace torchport::cuda
