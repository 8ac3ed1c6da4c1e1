#include "runtime/virtual/core/storage.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/COW.h>
#include <c10/core/impl/COWDeleter.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/version.h>

#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/history.h"
#include "runtime/virtual/core/host_allocator.h"
#include "runtime/virtual/core/out_of_memory.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/shutdown.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/watch/gpu_trace.h"
#include "runtime/virtual/watch/late_streams.h"

namespace c10::impl::cow {
// Releases in which a storage holds its materializer declare this, others do not.
C10_API void materialize_cow(StorageImpl* storage);  // NOLINT(readability-redundant-declaration)
}  // namespace c10::impl::cow

namespace torchport::vdev {

namespace {

using c10::DataPtr;
using c10::Device;
using c10::DeviceIndex;
using c10::intrusive_ptr;
using c10::StorageImpl;

// The context of a device storage's data pointer.
struct Block {
  intrusive_ptr<StorageImpl> twin;
  DeviceIndex device;
  std::uint64_t address;  // in the device's memory model; 0 if it has no bytes
  std::uint64_t bytes;
  void* data;  // where the bytes are
};

// Allocates a block for the device's current stream and returns its address. Raises if there is no
// room.
// A graph that is replayed has the memory of its capture, so its work takes none.
std::uint64_t charge(DeviceIndex device, std::uint64_t bytes) {
  if (is_replaying_graph()) return 0;
  const HistoryScope scope(HistoryScope::Of::kAllocation);
  device_was_used.store(true, std::memory_order_relaxed);
  check_possible(bytes);
  device::OutOfMemory failure;
  const auto address =
      Runtime::get().memory(device).allocate(bytes, current_stream(device), failure);
  if (!address) raise_out_of_memory(failure, device);
  if (streams_are_late()) late::allocated(device, *address, bytes);
  return *address;
}

// Gives a block back.
void discharge(DeviceIndex device, std::uint64_t address) {
  if (streams_are_late()) late::freed(address);  // before another thread can get it
  Runtime::get().memory(device).free(address);
}

// As charge(), on a device that may be lost: then cudaMalloc() fails, but a block that the caching
// allocator has already does not need it.
std::uint64_t charge_checked(DeviceIndex device, std::uint64_t bytes) {
  if (!any_device_failed()) return charge(device, bytes);
  device::MemoryModel& memory = Runtime::get().memory(device);
  const auto segments = memory.stats().device_allocs;
  const std::uint64_t address = charge(device, bytes);
  if (memory.stats().device_allocs == segments) return address;
  try {
    check_device(device, Asks::kToWait);
  } catch (...) {
    discharge(device, address);
    memory.empty_cache();  // there is no such segment
    throw;
  }
  return address;
}

// Tells who traces about a block that a program sees at `data`. Empty ones have no memory.
void trace_allocation(const void* data, std::uint64_t address) {
  if (address == 0) return;
  trace_gpu([&](const auto& python, c10::DeviceType type) {
    python->trace_gpu_memory_allocation(type, reinterpret_cast<std::uintptr_t>(data));
  });
}

void trace_deallocation(const void* data, std::uint64_t address) {
  if (address == 0) return;
  trace_gpu([&](const auto& python, c10::DeviceType type) {
    python->trace_gpu_memory_deallocation(type, reinterpret_cast<std::uintptr_t>(data));
  });
}

void delete_block(void* context) {
  auto* block = static_cast<Block*>(context);
  trace_deallocation(block->data, block->address);
  const HistoryScope scope(HistoryScope::Of::kFree);
  discharge(block->device, block->address);
  delete block;
}

// The blocks of storages that are or were copied on write, by the address of their bytes: PyTorch
// keeps nothing but that address for such a storage.
class SharedBlocks {
 public:
  static SharedBlocks& get() {
    static auto* blocks = new SharedBlocks();
    return *blocks;
  }

  void put(void* data, Block* block) {
    const std::scoped_lock lock(mutex_);
    blocks_.emplace(data, block);
  }

  Block* at(const void* data) {
    const std::scoped_lock lock(mutex_);
    const auto found = blocks_.find(data);
    return found == blocks_.end() ? nullptr : found->second;
  }

  Block* take(const void* data) {
    const std::scoped_lock lock(mutex_);
    const auto node = blocks_.extract(data);
    return node.empty() ? nullptr : node.mapped();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, Block*> blocks_;
};

void delete_shared_block(void* data) {
  if (Block* block = SharedBlocks::get().take(data)) delete_block(block);
}

// Lets the first write give the storage memory of its own. Older releases see that by the deleter.
template <class Storage>
void copy_on_write(Storage& storage) {
  if constexpr (requires { storage.set_materializer(&c10::impl::cow::materialize_cow); })
    storage.set_materializer(&c10::impl::cow::materialize_cow);
}

bool is_shared(const DataPtr& pointer) {
  return pointer.get_deleter() == &delete_shared_block || c10::impl::cow::is_cow_data_ptr(pointer);
}

Block* block_of(const DataPtr& pointer) {
  if (pointer.get_deleter() == &delete_block) return static_cast<Block*>(pointer.get_context());
  return is_shared(pointer) ? SharedBlocks::get().at(pointer.get()) : nullptr;
}

DataPtr pointer_to(intrusive_ptr<StorageImpl> twin, DeviceIndex device, bool charged) {
  const std::uint64_t bytes = twin->nbytes();
  void* data = twin->mutable_data();
  const std::uint64_t address = charged ? charge_checked(device, bytes) : 0;
  auto* block = new Block{std::move(twin), device, address, bytes, data};
  trace_allocation(data, address);
  return {data, block, &delete_block, Device(Runtime::get().kind().type, device)};
}

class DeviceMemory final : public c10::DeviceAllocator {
 public:
  DataPtr allocate(std::size_t bytes) override {
    const DeviceIndex device = current_device();
    // The device's memory is charged first: what is too large for the device may also be too large
    // for the host.
    const std::uint64_t address = charge_checked(device, bytes);
    try {
      auto twin = c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(),
                                                   static_cast<std::int64_t>(bytes),
                                                   c10::GetCPUAllocator(), true);
      void* data = twin->mutable_data();
      auto* block = new Block{std::move(twin), device, address, bytes, data};
      trace_allocation(data, address);
      return {data, block, &delete_block, Device(Runtime::get().kind().type, device)};
    } catch (...) {
      discharge(device, address);
      throw;
    }
  }

  void copy_data(void* destination, const void* source, std::size_t count) const override {
    default_copy_data(destination, source, count);
  }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { empty_caches(); }
  void recordStream(const DataPtr& pointer, c10::Stream stream) override {
    record_stream(pointer, stream);
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex device) override;
  void resetAccumulatedStats(DeviceIndex device) override {
    Runtime::get().memory(device).reset_accumulated();
  }
  void resetPeakStats(DeviceIndex device) override { Runtime::get().memory(device).reset_peak(); }
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 10
  std::pair<std::size_t, std::size_t> getMemoryInfo(DeviceIndex device) override {
    const auto& memory = Runtime::get().memory(device);
    return {memory.device_free(), memory.total()};
  }
#endif
};

void copy_stat(const device::PoolStat& from, c10::CachingAllocator::StatArray& to) {
  for (std::size_t i = 0; i < from.of.size(); ++i) {
    to[i].current = from.of[i].current;
    to[i].peak = from.of[i].peak;
    to[i].allocated = from.of[i].allocated;
    to[i].freed = from.of[i].freed;
  }
}

c10::CachingDeviceAllocator::DeviceStats DeviceMemory::getDeviceStats(DeviceIndex device) {
  const device::MemoryStats stats = Runtime::get().memory(device).stats();
  c10::CachingDeviceAllocator::DeviceStats result;
  copy_stat(stats.allocation, result.allocation);
  copy_stat(stats.segment, result.segment);
  copy_stat(stats.active, result.active);
  copy_stat(stats.inactive_split, result.inactive_split);
  copy_stat(stats.allocated_bytes, result.allocated_bytes);
  copy_stat(stats.reserved_bytes, result.reserved_bytes);
  copy_stat(stats.active_bytes, result.active_bytes);
  copy_stat(stats.inactive_split_bytes, result.inactive_split_bytes);
  copy_stat(stats.requested_bytes, result.requested_bytes);
  result.num_alloc_retries = stats.alloc_retries;
  result.num_ooms = stats.ooms;
  result.num_device_alloc = stats.device_allocs;
  result.num_device_free = stats.device_frees;
  result.max_split_size = -1;
  return result;
}

// Whether a device's cache has a segment that nothing lies in.
bool has_cached_segment(DeviceIndex device) {
  const auto segments = Runtime::get().memory(device).snapshot();
  return std::any_of(segments.begin(), segments.end(), [](const device::SegmentView& segment) {
    return segment.blocks.size() == 1 && !segment.blocks.front().allocated;
  });
}

}  // namespace

void empty_caches() {
  for (DeviceIndex i = 0; i < Runtime::get().count(); ++i) {
    // cudaFree() waits.
    if (any_device_failed() && has_cached_segment(i)) check_device(i, Asks::kToWait);
    if (streams_are_late()) late::host_waits(i);
    const HistoryScope scope(HistoryScope::Of::kFree);
    Runtime::get().memory(i).empty_cache();
  }
  release_host_memory();
}

c10::Allocator* device_allocator() {
  static auto* allocator = new DeviceMemory();
  return allocator;
}

intrusive_ptr<StorageImpl> twin_of(StorageImpl& storage) {
  if (const Block* block = block_of(storage.data_ptr())) return block->twin;
  return c10::make_intrusive<StorageImpl>(
      StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(storage.nbytes()),
      DataPtr(storage.mutable_data(), Device(c10::DeviceType::CPU)), c10::GetCPUAllocator(), false);
}

void record_stream(const DataPtr& pointer, const c10::Stream& stream) {
  const Block* block = streams_are_late() ? block_of(pointer) : nullptr;
  if (block != nullptr) late::record_stream(stream.device_index(), stream.id(), block->address);
}

std::uint64_t block_address(const StorageImpl& storage) {
  const Block* block = block_of(storage.data_ptr());
  return block == nullptr ? 0 : block->address;
}

c10::Storage adopt(const c10::Storage& cpu, DeviceIndex device, bool charged) {
  intrusive_ptr<StorageImpl> twin =
      c10::intrusive_ptr<StorageImpl>::reclaim_copy(cpu.unsafeGetStorageImpl());
  const auto bytes = static_cast<std::int64_t>(twin->nbytes());
  const bool resizable = twin->resizable();
  return c10::Storage(c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(), bytes,
                                                       pointer_to(std::move(twin), device, charged),
                                                       device_allocator(), resizable));
}

void follow_twin(StorageImpl& storage) {
  Block* block = block_of(storage.data_ptr());
  if (block == nullptr) return;
  StorageImpl& twin = *block->twin;
  if (twin.data() == storage.data() && twin.nbytes() == storage.nbytes()) return;
  // Puts the same context under the new pointer. This comes before the charge, which may raise: the
  // old bytes are already gone.
  DataPtr old = storage.set_data_ptr(DataPtr());
  if (is_shared(old)) SharedBlocks::get().take(old.get());
  old.release_context();
  storage.set_data_ptr_noswap(DataPtr(twin.mutable_data(), block, &delete_block, old.device()));
  storage.set_nbytes(twin.nbytes());
  if (block->bytes != twin.nbytes()) {
    const std::uint64_t fresh = charge(block->device, twin.nbytes());
    trace_allocation(twin.data(), fresh);
    trace_deallocation(block->data, block->address);
    discharge(block->device, block->address);
    block->address = fresh;
    block->bytes = twin.nbytes();
  }
  block->data = twin.mutable_data();
}

intrusive_ptr<StorageImpl> lazy_clone_of(StorageImpl& storage) {
  namespace cow = c10::impl::cow;
  const DataPtr& pointer = storage.data_ptr();
  Block* block = block_of(pointer);
  if (block == nullptr || pointer.get() == nullptr) return {};
  void* data = storage._mutable_data_ptr_no_checks().get();
  const Device device = pointer.device();
  if (!cow::is_cow_data_ptr(pointer)) {
    if (!is_shared(pointer)) SharedBlocks::get().put(data, block);
    storage._mutable_data_ptr_no_checks().release_context();
    auto* context = new cow::COWDeleterContext({data, &delete_shared_block});
    storage.set_data_ptr_noswap(DataPtr(data, context, &cow::cow_deleter, device));
    copy_on_write(storage);
  }
  auto* context = storage.data_ptr().cast_context<cow::COWDeleterContext>(&cow::cow_deleter);
  context->increment_refcount();
  auto clone = c10::make_intrusive<StorageImpl>(
      StorageImpl::use_byte_size_t(), storage.sym_nbytes(),
      DataPtr(data, context, &cow::cow_deleter, device), device_allocator(), storage.resizable());
  copy_on_write(*clone);
  return clone;
}

}  // namespace torchport::vdev
