// How many blocks a multiprocessor runs at once: limited by its threads, blocks, registers and
// shared memory (CUDA's programming guide, "Occupancy Calculator"); the steps of sizes and the
// rules for a preferred part of shared memory are recorded of an H100 (program occupancy).
#include <algorithm>
#include <array>

#include "cuda/runtime/functions.h"
#include "cuda/runtime/limits.h"
#include "cuda/runtime/state.h"

using namespace torchport::cuda;

namespace torchport::cuda {

namespace {

constexpr std::size_t kSharedUnit = 128;
constexpr int kWarp = 32;

std::size_t rounded_to_unit(std::size_t bytes) {
  return (bytes + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
}

// The shared memory of a multiprocessor that a kernel wants.
std::size_t shared_of(const devices::Profile& profile, const KernelSettings& settings) {
  const std::size_t all = profile.shared_memory_per_multiprocessor;
  if (settings.carveout < 0) return all;
  constexpr std::array<std::size_t, 9> kSizes{8, 16, 32, 64, 100, 132, 164, 196, 228};
  const std::size_t wanted = all * static_cast<std::size_t>(settings.carveout) / 100;
  for (const std::size_t one : kSizes)
    if (one * 1024 >= wanted) return std::min(one * 1024, all);
  return all;
}

// By threads, blocks and registers alone.
int blocks_without_shared(const devices::Profile& profile, const Kernel& kernel, int threads) {
  const unsigned most = kernel.bounds.threads != 0 ? std::max(kernel.bounds.threads, 1024U) : 1024U;
  if (threads < 1 || static_cast<unsigned>(threads) > most) return 0;
  const int warps = (threads + kWarp - 1) / kWarp;
  int most_blocks = 0;
  attribute_of(profile, 0, cudaDevAttrMaxBlocksPerMultiprocessor, most_blocks);
  constexpr int kParts = 4;
  constexpr int kRegistersOfWarp = (kRegisters * kWarp + 255) / 256 * 256;
  const int by_registers =
      profile.registers_per_multiprocessor / kParts / kRegistersOfWarp * kParts / warps;
  const int by_threads = profile.max_threads_per_multiprocessor / kWarp / warps;
  return std::min({most_blocks, by_registers, by_threads});
}

}  // namespace

int blocks_at_once(const Kernel& kernel, int threads, std::size_t shared) {
  const devices::Profile& profile = *current_state().profile;
  if (shared > most_dynamic_shared(kernel)) return 0;
  const int blocks = blocks_without_shared(profile, kernel, threads);
  const std::size_t own = rounded_to_unit(*kernel.shared + shared) + reserved_shared(profile);
  if (own == 0 || blocks == 0) return blocks;
  const std::size_t by_shared = shared_of(profile, settings_of(kernel)) / own;
  return std::min(blocks, static_cast<int>(std::max<std::size_t>(by_shared, 1)));
}

}  // namespace torchport::cuda

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int threads, size_t shared) {
  Kernel kernel{};
  if (blocks == nullptr || threads < 1) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  if (const int error = find_kernel(function, kernel)) return told(error);
  *blocks = blocks_at_once(kernel, threads, shared);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* function,
                                                                   int threads, size_t shared,
                                                                   unsigned int) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared, const void* function,
                                                      int blocks, int threads) {
  Kernel kernel{};
  if (shared == nullptr || blocks < 1 || threads < 1) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  if (const int error = find_kernel(function, kernel)) return told(error);
  const torchport::devices::Profile& profile = *current_state().profile;
  if (blocks > blocks_without_shared(profile, kernel, threads)) return told(cudaErrorInvalidValue);
  const std::size_t own = *kernel.shared;
  const std::size_t most = most_dynamic_shared(kernel) + own;
  std::size_t all = shared_of(profile, settings_of(kernel)) / static_cast<std::size_t>(blocks);
  all = blocks == 1 ? most : std::min(all / kSharedUnit * kSharedUnit, most);
  if (all < own) return told(cudaErrorInvalidValue);
  *shared = all - own;
  return cudaSuccess;
}

namespace {

constexpr unsigned kMostOfCluster = 8;

const cudaLaunchAttribute* cluster_of(const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) return &config.attrs[i];
  return nullptr;
}

}  // namespace

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  Kernel kernel{};
  if (clusters == nullptr || config == nullptr) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  if (const int error = find_kernel(function, kernel)) return told(error);
  const cudaLaunchAttribute* given = cluster_of(*config);
  unsigned size = 1;
  if (given != nullptr)
    size = given->val.clusterDim.x * given->val.clusterDim.y * given->val.clusterDim.z;
  const unsigned most = settings_of(kernel).large_clusters ? 2 * kMostOfCluster : kMostOfCluster;
  if (size == 0 || size > most) return told(cudaErrorInvalidClusterSize);
  const int threads =
      static_cast<int>(config->blockDim.x * config->blockDim.y * config->blockDim.z);
  const int blocks = blocks_at_once(kernel, threads, config->dynamicSmemBytes);
  // The multiprocessors of an H100 come in groups, and some are left over for clusters above 2.
  const int all = current_state().profile->multiprocessors;
  const int usable = size > 2 ? all - all / 16 : all;
  *clusters = blocks * usable / static_cast<int>(size);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t* config) {
  Kernel kernel{};
  if (size == nullptr || config == nullptr) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  if (const int error = find_kernel(function, kernel)) return told(error);
  *size =
      static_cast<int>(settings_of(kernel).large_clusters ? 2 * kMostOfCluster : kMostOfCluster);
  return cudaSuccess;
}
