// Attributes of kernels.
#include "cuda/runtime/functions.h"

#include <map>
#include <mutex>

#include "cuda/runtime/limits.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/state.h"

using namespace torchport::cuda;

namespace torchport::cuda {

namespace {

constexpr std::size_t kShared = std::size_t{48} * 1024;

std::mutex functions_mutex;
std::map<const void*, KernelSettings>& all_settings() {
  static auto* const kAll = new std::map<const void*, KernelSettings>();
  return *kAll;
}

const void* identity(const Kernel& kernel) {
  return reinterpret_cast<const void*>(kernel.threads);
}

std::size_t constant_bytes() {
  std::size_t bytes = 0;
  for (const Range& range : ranges_of_device(0))
    if (range.owner == Owner::kVariable && range.flags != 0) bytes += range.bytes;
  return bytes;
}

}  // namespace

KernelSettings settings_of(const Kernel& kernel) {
  const std::scoped_lock lock(functions_mutex);
  const auto found = all_settings().find(identity(kernel));
  return found == all_settings().end() ? KernelSettings() : found->second;
}

void set_settings(const Kernel& kernel, const KernelSettings& settings) {
  const std::scoped_lock lock(functions_mutex);
  all_settings()[identity(kernel)] = settings;
}

std::size_t most_dynamic_shared(const Kernel& kernel) {
  const long set = settings_of(kernel).most_dynamic_shared;
  if (set >= 0) return static_cast<std::size_t>(set);
  return *kernel.shared >= kShared ? 0 : kShared - *kernel.shared;
}

}  // namespace torchport::cuda

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) return told(cudaErrorInvalidValue);
  Kernel kernel{};
  if (const int error = use_device()) return told(error);
  if (const int error = find_kernel(function, kernel)) return told(error);
  *attributes = {};
  const KernelSettings settings = settings_of(kernel);
  const torchport::devices::Profile& profile = *current_state().profile;
  attributes->sharedSizeBytes = *kernel.shared;
  attributes->constSizeBytes = constant_bytes();
  attributes->maxThreadsPerBlock =
      kernel.bounds.threads != 0 ? static_cast<int>(kernel.bounds.threads) : 1024;
  attributes->numRegs = kRegisters;
  // cub chooses by it among what was compiled.
  attributes->ptxVersion = attributes->binaryVersion =
      kernel.architecture == 0 ? profile.major * 10 + profile.minor
                               : static_cast<int>(kernel.architecture / 10);
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(most_dynamic_shared(kernel));
  attributes->preferredShmemCarveout = settings.carveout;
  const ::dim3& cluster = kernel.bounds.cluster;
  attributes->clusterDimMustBeSet = cluster.x != 0 ? 1 : 0;
  attributes->requiredClusterWidth = static_cast<int>(cluster.x);
  attributes->requiredClusterHeight = static_cast<int>(cluster.y);
  attributes->requiredClusterDepth = static_cast<int>(cluster.z);
  attributes->nonPortableClusterSizeAllowed = settings.large_clusters ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute which, int value) {
  Kernel kernel{};
  if (const int error = use_device()) return told(error);
  if (const int error = find_kernel(function, kernel)) return told(error);
  KernelSettings settings = settings_of(kernel);
  const std::size_t most = current_state().profile->shared_memory_per_block_optin;
  switch (which) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || static_cast<std::size_t>(value) + *kernel.shared > most)
        return told(cudaErrorInvalidValue);
      settings.most_dynamic_shared = value;
      break;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return told(cudaErrorInvalidValue);
      settings.carveout = value;
      break;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      settings.large_clusters = value != 0;
      break;
    case cudaFuncAttributeRequiredClusterWidth:
      settings.cluster.x = static_cast<unsigned>(value);
      break;
    case cudaFuncAttributeRequiredClusterHeight:
      settings.cluster.y = static_cast<unsigned>(value);
      break;
    case cudaFuncAttributeRequiredClusterDepth:
      settings.cluster.z = static_cast<unsigned>(value);
      break;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      break;
    default:
      return told(cudaErrorInvalidValue);
  }
  set_settings(kernel, settings);
  return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  Kernel kernel{};
  if (const int error = use_device()) return told(error);
  return told(find_kernel(function, kernel));
}
cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig) {
  return cudaFuncSetCacheConfig(function, cudaFuncCachePreferNone);
}
cudaError_t cudaFuncGetName(const char** name, const void* function) {
  Kernel kernel{};
  if (name == nullptr) return told(cudaErrorInvalidValue);
  if (const int error = find_kernel(function, kernel)) return told(error);
  *name = kernel.name;
  return cudaSuccess;
}
