#include "runtime/virtual/core/storage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/copy_on_write.h"
#include "runtime/virtual/core/history.h"
#include "runtime/virtual/core/host_allocator.h"
#include "runtime/virtual/core/out_of_memory.h"
#include "runtime/virtual/core/phantom.h"
#include "runtime/virtual/core/placed_blocks.h"
#include "runtime/virtual/core/pool_memory.h"
#include "runtime/virtual/core/program_allocators.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/shutdown.h"
#include "runtime/virtual/core/storage_blocks.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/core/tensor_bytes.h"
#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/errors/runtime_errors.h"
#include "runtime/virtual/planning/memory_record.h"
#include "runtime/virtual/torch_releases.h"
#include "runtime/virtual/watch/gpu_trace.h"
#include "runtime/virtual/watch/late_streams.h"
#include "runtime/virtual/without_data/without_data.h"

namespace torchport::vdev {

namespace {

using c10::DataPtr;
using c10::Device;
using c10::DeviceIndex;
using c10::intrusive_ptr;
using c10::StorageImpl;

using Block = StorageBlock;

// As charge(), by cudaMalloc() instead of the caching allocator.
std::uint64_t charge_unmanaged(DeviceIndex device, std::uint64_t bytes) {
  check_event_in_capture({});  // cudaMalloc() is not allowed while a graph is captured
  const auto address = Runtime::get().memory(device).allocate_unmanaged(bytes);
  if (!address) raise_runtime_error(RuntimeError::kMemoryAllocation);
  if (streams_are_late()) late::allocated(device, *address, bytes);
  return *address;
}

std::uint64_t allocated_on(const device::MemoryStats& stats) {
  return static_cast<std::uint64_t>(stats.allocated_bytes.of[device::PoolStat::kAll].current);
}

// Tells the record of memory about a block. A block that is not split is larger than the request
// after rounding: its size is what was allocated more than `before`.
void record_block(DeviceIndex device, std::uint64_t address, std::uint64_t bytes,
                  std::uint64_t before) {
  const device::MemoryModel& memory = Runtime::get().memory(device);
  const device::MemoryStats stats = memory.stats();
  const std::uint64_t after = allocated_on(stats);
  const std::uint64_t size = after > before ? after - before : 0;
  record_taken(device, address, std::max(size, memory.round_size(bytes)),
               static_cast<std::uint64_t>(stats.reserved_bytes.of[device::PoolStat::kAll].current));
}

// Allocates a block for the device's current stream and returns its address. Raises if there is no
// room.
// A graph that is replayed has the memory of its capture, so its work takes none.
std::uint64_t charge(DeviceIndex device, std::uint64_t bytes) {
  if (is_replaying_graph()) return 0;
  const HistoryScope scope(HistoryScope::Of::kAllocation);
  device_was_used.store(true, std::memory_order_relaxed);
  check_possible(bytes);
  if (!caches_memory()) return charge_unmanaged(device, bytes);
  device::OutOfMemory failure;
  const std::uint64_t before =
      records_memory() ? allocated_on(Runtime::get().memory(device).stats()) : 0;
  const auto address =
      Runtime::get().memory(device).allocate(bytes, current_stream(device), failure);
  if (!address) {
    if (records_memory()) record_out_of_memory(device, bytes);
    raise_out_of_memory(failure, device);
  }
  if (records_memory() && *address != 0) record_block(device, *address, bytes, before);
  if (streams_are_late()) late::allocated(device, *address, bytes);
  return *address;
}

// Gives a block back.
void discharge(DeviceIndex device, std::uint64_t address) {
  if (streams_are_late()) late::freed(address);  // before another thread can get it
  if (records_memory()) record_given_back(device, address);
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

// Tells a profiler of memory about a block of so many requested bytes that was taken or given back
// (reportMemoryUsageToProfiler in c10/cuda/CUDACachingAllocator.cpp).
void tell_profiler(void* data, DeviceIndex device, std::uint64_t bytes, bool taken) {
  if (!c10::memoryProfilingEnabled()) return;
  const device::MemoryModel& memory = Runtime::get().memory(device);
  const device::MemoryStats stats = memory.stats();
  const auto size = static_cast<std::int64_t>(memory.round_size(bytes));
  c10::reportMemoryUsageToProfiler(data, taken ? size : -size,
                                   static_cast<std::size_t>(stats.allocated_bytes.of[0].current),
                                   static_cast<std::size_t>(stats.reserved_bytes.of[0].current),
                                   Device(Runtime::get().kind().type, device));
}

// Tells who traces about a block of so many bytes that a program sees at `data`. Empty ones have no
// memory.
void trace_allocation(void* data, std::uint64_t address, DeviceIndex device, std::uint64_t bytes) {
  if (address == 0) return;
  tell_profiler(data, device, bytes, true);
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
  unplace_block(*block);
  give_back(*block);
  forget_bytes(block->data);
  const HostMemoryOfDevice of_device;
  delete block;
}

// A twin that has an address and no memory.
intrusive_ptr<StorageImpl> twin_without_data(DeviceIndex device, std::uint64_t address,
                                             std::uint64_t bytes) {
  return c10::make_intrusive<StorageImpl>(
      StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(bytes),
      phantom_memory(device, address, bytes), c10::GetCPUAllocator(), true);
}

// Lets go of the memory of a twin whose block is at `address`, if such a block has no data.
void drop_data_of(StorageImpl& twin, DeviceIndex device, std::uint64_t address) {
  if (address == 0 || !drops_data(twin.nbytes()) || is_phantom(twin.data_ptr())) return;
  twin.set_data_ptr_noswap(phantom_memory(device, address, twin.nbytes()));
}

// The pointer of a new storage over a twin, whose block was charged at `address` (0: was not).
DataPtr pointer_to(intrusive_ptr<StorageImpl> twin, DeviceIndex device, std::uint64_t address) {
  const std::uint64_t bytes = twin->nbytes();
  const bool may_be_of_pool = address != 0 && Runtime::get().memory(device).takes_from_pools();
  // Blocks without data lie at places that follow from their addresses, as those of a segment do.
  if (may_be_of_pool && !is_phantom(twin->data_ptr())) move_to_segment(device, address, *twin);
  void* data = twin->mutable_data();
  auto block = std::make_unique<Block>(
      Block{std::move(twin), device, address, bytes, data, address != 0, false, false});
  if (may_be_of_pool) list_in_pools(*block);
  trace_allocation(data, address, device, bytes);
  return pointer_of(std::move(block));
}

// The program's own allocator, if it takes the place of the caching one. A graph that is replayed
// takes no memory.
const ProgramAllocator* allocator_of_program() {
  return is_replaying_graph() ? nullptr : replaced_caching_allocator();
}

class DeviceMemory final : public c10::DeviceAllocator {
 public:
  DataPtr allocate(std::size_t bytes) override {
    const DeviceIndex device = current_device();
    if (is_without_data()) cover_kernels();
    if (const ProgramAllocator* own = allocator_of_program())
      return pointer_to(storage_of_program(*own, device, bytes), device, 0);
    // The device's memory is charged first: what is too large for the device may also be too large
    // for the host.
    const std::uint64_t address = charge_checked(device, bytes);
    try {
      const HostMemoryOfDevice of_device;
      if (address != 0 && drops_data(bytes))
        return pointer_to(twin_without_data(device, address, bytes), device, address);
      auto twin = c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(),
                                                   static_cast<std::int64_t>(bytes),
                                                   c10::GetCPUAllocator(), true);
      // What a kernel would write that is not run reads as zeros.
      if (is_without_data() && bytes != 0) std::memset(twin->mutable_data(), 0, bytes);
      return pointer_to(std::move(twin), device, address);
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
  std::pair<std::size_t, std::size_t> getMemoryInfo(DeviceIndex device)
      TORCHPORT_OVERRIDES_MEMORY_INFO {
    const auto& memory = Runtime::get().memory(device);
    return {memory.device_free(), memory.total()};
  }
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

StorageBlock* block_of(const DataPtr& pointer) {
  if (pointer.get_deleter() == &delete_block) return static_cast<Block*>(pointer.get_context());
  return is_shared(pointer) ? shared_block_at(pointer.get()) : nullptr;
}

DataPtr pointer_of(std::unique_ptr<StorageBlock> block) {
  void* data = block->data;
  note_bytes(data, block->bytes);
  place_block(*block);
  const Device device(Runtime::get().kind().type, block->device);
  return {data, block.release(), &delete_block, device};
}

void give_back(StorageBlock& block) {
  if (!block.charged) return;
  block.charged = false;
  if (block.listed) unlist_in_pools(block);
  trace_deallocation(block.data, block.address);
  {
    const HistoryScope scope(HistoryScope::Of::kFree);
    discharge(block.device, block.address);
  }
  if (block.address != 0) tell_profiler(block.data, block.device, block.bytes, false);
}

void empty_caches() {
  for (DeviceIndex i = 0; i < Runtime::get().count(); ++i) {
    // cudaFree() waits.
    if (any_device_failed() && has_cached_segment(i)) check_device(i, Asks::kToWait);
    if (streams_are_late()) late::host_waits(i);
    const HistoryScope scope(HistoryScope::Of::kFree);
    Runtime::get().memory(i).empty_cache();
    forget_gone_segments(i);
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
  const ProgramAllocator* own = replaced_caching_allocator();
  if (own != nullptr && own->record_stream != nullptr)
    own->record_stream(pointer.get(),
                       reinterpret_cast<void*>(stream.id()));  // NOLINT(performance-no-int-to-ptr)
  const Block* block = streams_are_late() ? block_of(pointer) : nullptr;
  if (block != nullptr) late::record_stream(stream.device_index(), stream.id(), block->address);
}

std::uint64_t block_address(const StorageImpl& storage) {
  const Block* block = block_of(storage.data_ptr());
  return block == nullptr ? 0 : block->address;
}

c10::Storage adopt(const c10::Storage& cpu, DeviceIndex device, bool charged) {
  if (is_without_data()) cover_kernels();
  intrusive_ptr<StorageImpl> twin =
      c10::intrusive_ptr<StorageImpl>::reclaim_copy(cpu.unsafeGetStorageImpl());
  const auto bytes = static_cast<std::int64_t>(twin->nbytes());
  const bool resizable = twin->resizable();
  const ProgramAllocator* own = charged ? allocator_of_program() : nullptr;
  if (own != nullptr) move_to_program(*own, device, *twin);
  const std::uint64_t address =
      charged && own == nullptr ? charge_checked(device, twin->nbytes()) : 0;
  drop_data_of(*twin, device, address);
  return c10::Storage(c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(), bytes,
                                                       pointer_to(std::move(twin), device, address),
                                                       device_allocator(), resizable));
}

namespace {

// Puts a storage's block under the pointer to its twin's bytes.
void point_to(StorageImpl& storage, Block& block) {
  DataPtr old = storage.set_data_ptr(DataPtr());
  if (is_shared(old)) forget_shared_block(old.get());
  old.release_context();
  storage.set_data_ptr_noswap(
      DataPtr(block.twin->mutable_data(), &block, &delete_block, old.device()));
}

// Charges a block whose twin has another size now, and gives its old memory back.
void charge_again(StorageImpl& storage, Block& block) {
  StorageImpl& twin = *block.twin;
  const ProgramAllocator* own = block.alias ? nullptr : allocator_of_program();
  if (own != nullptr) move_to_program(*own, block.device, twin);
  const bool charges = !block.alias && own == nullptr;
  const std::uint64_t fresh = charges ? charge(block.device, twin.nbytes()) : 0;
  drop_data_of(twin, block.device, fresh);
  if (fresh != 0 && !is_phantom(twin.data_ptr()) &&
      Runtime::get().memory(block.device).takes_from_pools())
    move_to_segment(block.device, fresh, twin);
  if (twin.data() != storage.data()) point_to(storage, block);
  trace_allocation(twin.mutable_data(), fresh, block.device, twin.nbytes());
  give_back(block);
  block.charged = fresh != 0;
  block.address = fresh;
  block.bytes = twin.nbytes();
}

}  // namespace

void follow_twin(StorageImpl& storage) {
  Block* block = block_of(storage.data_ptr());
  if (block == nullptr) return;
  StorageImpl& twin = *block->twin;
  if (twin.data() == storage.data() && twin.nbytes() == storage.nbytes()) return;
  unplace_block(*block);
  // This comes before the charge, which may raise: the old bytes are already gone.
  point_to(storage, *block);
  storage.set_nbytes(twin.nbytes());
  if (block->bytes != twin.nbytes()) {
    charge_again(storage, *block);
  } else if (twin.data() != block->data) {
    // It is the block that it was, which a program sees at another place.
    trace_allocation(twin.mutable_data(), block->address, block->device, block->bytes);
    trace_deallocation(block->data, block->address);
    if (block->address != 0) tell_profiler(block->data, block->device, block->bytes, false);
  }
  forget_bytes(block->data);
  block->data = twin.mutable_data();
  note_bytes(block->data, block->bytes);
  place_block(*block);
  const bool was_listed = block->listed;
  if (was_listed) unlist_in_pools(*block);
  if (block->charged && (was_listed || Runtime::get().memory(block->device).takes_from_pools()))
    list_in_pools(*block);
}

}  // namespace torchport::vdev
