// A pool has addresses of its own, which get memory in steps of 32 MiB. Figures as recorded of an
// H100 (program pools).
#include "cuda/runtime/pools.h"

#include <algorithm>
#include <set>

#include "cuda/runtime/state.h"
#include "cuda/runtime/streams.h"

using namespace torchport::cuda;

struct CUmemPoolHandle_st {
  static constexpr std::size_t kStep = std::size_t{32} << 20U;

  int device = 0;
  std::size_t most = 0;  // bytes it may have
  bool is_default = false;
  std::uint64_t reuse[3] = {1, 1, 1};
  std::uint64_t threshold = 0;
  std::size_t reserved = 0;
  std::size_t reserved_high = 0;
  std::size_t used = 0;
  std::size_t used_high = 0;
  char* base = nullptr;
  std::size_t addresses = 0;
  std::map<std::size_t, std::size_t> blocks{};  // offset -> bytes, rounded
  std::set<std::size_t> steps{};                // offsets that have memory

  void* allocate(std::size_t bytes);
  void free(const char* data, std::size_t bytes);
  void trim(std::size_t keep);
};

namespace torchport::cuda {

namespace {

std::recursive_mutex pools_mutex;

struct Pools {
  std::map<int, cudaMemPool_t> defaults;
  std::map<int, cudaMemPool_t> current;
  std::set<cudaMemPool_t> all;
};
Pools& pools() {
  static auto* const kPools = new Pools();
  return *kPools;
}

cudaMemPool_t default_pool(int device) {
  cudaMemPool_t& found = pools().defaults[device];
  if (found == nullptr) {
    found = new CUmemPoolHandle_st();
    found->device = device;
    found->is_default = true;
    found->most = memory_of(device).total();
    pools().all.insert(found);
  }
  return found;
}

cudaMemPool_t current_pool(int device) {
  const auto found = pools().current.find(device);
  return found == pools().current.end() ? default_pool(device) : found->second;
}

int allocated(void** data, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  if (data == nullptr) return cudaErrorInvalidValue;
  bool captured = false;
  if (const int error = begin_work(stream, captured)) return error;
  *data = nullptr;
  if (bytes == 0) return 0;
  const std::scoped_lock lock(pools_mutex);
  if (pool == nullptr) pool = current_pool(current_device());
  if (pools().all.count(pool) == 0) return cudaErrorInvalidValue;
  void* found = pool->allocate(bytes);
  if (found == nullptr) return cudaErrorMemoryAllocation;
  Range range;
  range.begin = static_cast<char*>(found);
  range.bytes = bytes;
  range.owner = Owner::kPool;
  range.device = pool->device;
  range.pool = pool;
  *data = found;
  add_range(range);
  if (!captured) return 0;
  // It is the graph's from now on, as long as the graph is there.
  CUgraph_st* graph = stream_of(stream)->capture->graph;
  graph->kept.push_back(std::shared_ptr<void>(found, [](void* kept) {
    if (const auto own = take_range(kept, {Owner::kPool})) free_in_pool(*own);
  }));
  return add_to_capture(stream, {cudaGraphNodeTypeMemAlloc});
}

}  // namespace

void free_in_pool(const Range& range) {
  const std::scoped_lock lock(pools_mutex);
  if (pools().all.count(range.pool) != 0) range.pool->free(range.begin, range.bytes);
}

void trim_pools(int device) {
  const std::scoped_lock lock(pools_mutex);
  for (cudaMemPool_t one : pools().all)
    if (one->device == device && one->reserved > one->threshold) one->trim(one->threshold);
}

}  // namespace torchport::cuda

void* CUmemPoolHandle_st::allocate(std::size_t bytes) {
  DeviceMemory& memory = memory_of(device);
  if (bytes > most) return nullptr;
  if (base == nullptr) {
    addresses = rounded_up(most, kStep);
    base = memory.reserve(addresses);
    if (base == nullptr) return nullptr;
  }
  const std::size_t size = rounded_up(bytes, kUnit);
  std::size_t at = 0;
  for (const auto& [offset, length] : blocks) {
    if (offset - at >= size) break;
    at = offset + length;
  }
  if (at + size > rounded_up(most, kUnit)) return nullptr;
  std::vector<std::size_t> added;
  for (std::size_t step = at / kStep * kStep; step < at + size; step += kStep) {
    if (steps.count(step) != 0) continue;
    if (!memory.map(base + step, kStep)) {
      for (const std::size_t one : added) {
        memory.unmap(base + one, kStep);
        steps.erase(one);
        reserved -= kStep;
      }
      return nullptr;
    }
    steps.insert(step);
    added.push_back(step);
    reserved += kStep;
  }
  blocks.emplace(at, size);
  used += bytes;
  used_high = std::max(used_high, used);
  reserved_high = std::max(reserved_high, reserved);
  return base + at;
}

void CUmemPoolHandle_st::free(const char* data, std::size_t bytes) {
  if (blocks.erase(static_cast<std::size_t>(data - base)) != 0) used -= bytes;
}

void CUmemPoolHandle_st::trim(std::size_t keep) {
  std::set<std::size_t> needed;
  for (const auto& [offset, length] : blocks)
    for (std::size_t step = offset / kStep * kStep; step < offset + length; step += kStep)
      needed.insert(step);
  for (auto it = steps.end(); it != steps.begin() && reserved > keep;) {
    --it;
    if (needed.count(*it) != 0) continue;
    memory_of(device).unmap(base + *it, kStep);
    reserved -= kStep;
    it = steps.erase(it);
  }
}

cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t stream) {
  return told(allocated(data, bytes, nullptr, stream));
}
cudaError_t cudaMallocFromPoolAsync(void** data, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  if (pool == nullptr) return told(cudaErrorInvalidValue);
  return told(allocated(data, bytes, pool, stream));
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  bool captured = false;
  if (const int error = begin_work(stream, captured)) return told(error);
  if (data == nullptr) return cudaSuccess;
  if (captured) return told(add_to_capture(stream, {cudaGraphNodeTypeMemFree}));
  const auto range = take_range(data, {Owner::kDevice, Owner::kPool});
  if (!range) return told(cudaErrorInvalidValue);
  if (range->owner == Owner::kPool)
    free_in_pool(*range);
  else
    memory_of(range->device).free(data, range->bytes);
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr ||
      properties->allocType != cudaMemAllocationTypePinned ||
      properties->location.type != cudaMemLocationTypeDevice || !is_device(properties->location.id))
    return told(cudaErrorInvalidValue);
  if (properties->handleTypes != cudaMemHandleTypeNone) return told(cudaErrorNotSupported);
  if (const int error = use_device()) return told(error);
  auto* made = new CUmemPoolHandle_st();
  made->device = properties->location.id;
  made->most = properties->maxSize == 0 ? memory_of(made->device).total() : properties->maxSize;
  const std::scoped_lock lock(pools_mutex);
  pools().all.insert(made);
  *pool = made;
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  const std::scoped_lock lock(pools_mutex);
  if (pools().all.count(pool) == 0 || pool->is_default) return told(cudaErrorInvalidValue);
  pool->trim(0);
  pools().all.erase(pool);
  for (auto& [device, one] : pools().current)
    if (one == pool) one = default_pool(device);
  if (pool->blocks.empty()) {
    if (pool->base != nullptr) memory_of(pool->device).unreserve(pool->base, pool->addresses);
    delete pool;  // else it lives on: there is memory of it
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  const std::scoped_lock lock(pools_mutex);
  if (pools().all.count(pool) == 0) return told(cudaErrorInvalidValue);
  pool->trim(keep);
  return told(use_device());
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  const std::scoped_lock lock(pools_mutex);
  if (pools().all.count(pool) == 0 || value == nullptr) return told(cudaErrorInvalidValue);
  auto& wide = *static_cast<std::uint64_t*>(value);
  switch (which) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      *static_cast<int*>(value) = static_cast<int>(pool->reuse[which - 1]);
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      wide = pool->threshold;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
      wide = pool->reserved;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
      wide = pool->reserved_high;
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemCurrent:
      wide = pool->used;
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemHigh:
      wide = pool->used_high;
      return cudaSuccess;
    default:
      return told(cudaErrorInvalidValue);
  }
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  const std::scoped_lock lock(pools_mutex);
  if (pools().all.count(pool) == 0 || value == nullptr) return told(cudaErrorInvalidValue);
  switch (which) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      pool->reuse[which - 1] = *static_cast<int*>(value) != 0 ? 1 : 0;
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      pool->threshold = *static_cast<std::uint64_t*>(value);
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      if (*static_cast<std::uint64_t*>(value) != 0) return told(cudaErrorInvalidValue);
      if (which == cudaMemPoolAttrUsedMemHigh)
        pool->used_high = pool->used;
      else
        pool->reserved_high = pool->reserved;
      return cudaSuccess;
    default:
      return told(cudaErrorInvalidValue);
  }
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count) {
  const std::scoped_lock lock(pools_mutex);
  return told(pools().all.count(pool) == 0 || (list == nullptr && count > 0) ? cudaErrorInvalidValue
                                                                             : cudaSuccess);
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation* location) {
  const std::scoped_lock lock(pools_mutex);
  if (pools().all.count(pool) == 0 || flags == nullptr || location == nullptr)
    return told(cudaErrorInvalidValue);
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return told(cudaErrorInvalidValue);
  if (!is_device(device)) return told(cudaErrorInvalidDevice);
  const std::scoped_lock lock(pools_mutex);
  *pool = default_pool(device);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return told(cudaErrorInvalidValue);
  if (!is_device(device)) return told(cudaErrorInvalidDevice);
  const std::scoped_lock lock(pools_mutex);
  *pool = current_pool(device);
  return cudaSuccess;
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  if (!is_device(device)) return told(cudaErrorInvalidDevice);
  const std::scoped_lock lock(pools_mutex);
  if (pools().all.count(pool) == 0 || pool->device != device) return told(cudaErrorInvalidValue);
  pools().current[device] = pool;
  return cudaSuccess;
}
