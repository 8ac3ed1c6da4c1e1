#include "runtime/virtual/core/pinned.h"

#include <bit>
#include <map>
#include <mutex>

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/library.h>

#include "runtime/virtual/core/build_facts.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/errors/runtime_errors.h"
#include "runtime/virtual/torch_releases.h"

namespace torchport::vdev {

namespace {

void copy_stat(const device::Stat& from, c10::CachingAllocator::Stat& to) {
  to.current = from.current;
  to.peak = from.peak;
  to.allocated = from.allocated;
  to.freed = from.freed;
}

class PinnedMemory final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr host = take(bytes);
    void* data = host.get();
    if (data == nullptr) return host;
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_[data] = {bytes, std::move(host)};
    count_in(std::bit_ceil(bytes));
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    default_copy_data(destination, source, count);
  }

  // Work is complete when its call returns, so memory can be reused at once.
  bool record_event(void*, void*, c10::Stream) override { return true; }
  at::HostStats get_stats() override {
    const PinnedStats from = stats();
    at::HostStats to;
    copy_stat(from.blocks, host_blocks(to));
    copy_stat(from.bytes, host_bytes(to));
    copy_stat(from.active_blocks, active_host_blocks(to));
    copy_stat(from.active_bytes, active_host_bytes(to));
    to.num_host_alloc = from.blocks.allocated;
    to.num_host_free = from.blocks.freed;
    return to;
  }
  void reset_accumulated_stats() override { reset(false); }
  void reset_peak_stats() override { reset(true); }

  bool holds(const void* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto is_in = [&](const auto& blocks, auto bytes_of) {
      auto after = blocks.upper_bound(const_cast<void*>(address));
      if (after == blocks.begin()) return false;
      const auto& [start, block] = *--after;
      return address < static_cast<const char*>(start) + bytes_of(block);
    };
    return is_in(blocks_, [](const Block& block) { return block.bytes; }) ||
           is_in(registered_, [](std::size_t bytes) { return bytes; });
  }

  // The program's own memory that is pinned, with cudaHostRegister().
  bool add(void* address, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return registered_.emplace(address, bytes).second;
  }
  bool remove(void* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return registered_.erase(address) > 0;
  }

  PinnedStats stats() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }
  void reset(bool peak) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (device::Stat* stat :
         {&stats_.blocks, &stats_.bytes, &stats_.active_blocks, &stats_.active_bytes}) {
      if (peak)
        stat->peak = stat->current;
      else
        stat->allocated = stat->freed = 0;
    }
  }
  void empty_cache() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [size, count] : kept_) {
      stats_.blocks.subtract(count);
      stats_.bytes.subtract(static_cast<std::int64_t>(size) * count);
    }
    kept_.clear();
  }

 private:
  struct Block {
    std::size_t bytes = 0;
    c10::DataPtr host;
  };

  static void release(void* data);

  // Raises what cudaHostAlloc() does if the host has no room.
  static c10::DataPtr take(std::size_t bytes) {
    try {
      return c10::GetCPUAllocator()->allocate(bytes);
    } catch (const c10::Error&) {
      if (Runtime::get().kind().type != c10::DeviceType::CUDA) throw;
    }
    raise_runtime_error(RuntimeError::kMemoryAllocation);
  }

  void count_in(std::size_t size) {
    stats_.active_blocks.add(1);
    stats_.active_bytes.add(static_cast<std::int64_t>(size));
    const auto kept = kept_.find(size);
    if (kept != kept_.end() && kept->second > 0) {
      --kept->second;
      return;
    }
    stats_.blocks.add(1);
    stats_.bytes.add(static_cast<std::int64_t>(size));
  }
  void count_out(std::size_t size) {
    stats_.active_blocks.subtract(1);
    stats_.active_bytes.subtract(static_cast<std::int64_t>(size));
    ++kept_[size];
  }

  std::map<void*, Block> blocks_;
  std::map<void*, std::size_t> registered_;
  // Counts the blocks that the real allocator would keep. Their memory is returned at once.
  std::map<std::size_t, std::int64_t> kept_;
  PinnedStats stats_;
  std::mutex mutex_;
};

PinnedMemory& memory() {
  static auto* memory = new PinnedMemory();
  return *memory;
}

void PinnedMemory::release(void* data) {
  Block block;
  {
    const std::lock_guard<std::mutex> lock(memory().mutex_);
    const auto found = memory().blocks_.find(data);
    if (found == memory().blocks_.end()) return;
    block = std::move(found->second);
    memory().blocks_.erase(found);
    memory().count_out(std::bit_ceil(block.bytes));
  }
}

// These return a cudaError_t.
std::int64_t host_register(std::int64_t address, std::int64_t bytes) {
  constexpr std::int64_t kInvalidValue = 1;
  constexpr std::int64_t kAlreadyRegistered = 712;
  if (address == 0 || bytes <= 0) return kInvalidValue;
  // torch asks for pinned memory only once the device is initialised.
  at::globalContext().lazyInitDevice(Runtime::get().kind().type);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python passes an address as a number.
  auto* start = reinterpret_cast<void*>(address);
  return memory().add(start, static_cast<std::size_t>(bytes)) ? 0 : kAlreadyRegistered;
}

std::int64_t host_unregister(std::int64_t address) {
  constexpr std::int64_t kNotRegistered = 713;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python passes an address as a number.
  return memory().remove(reinterpret_cast<void*>(address)) ? 0 : kNotRegistered;
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("host_register(int address, int bytes) -> int", &host_register);
  library.def("host_unregister(int address) -> int", &host_unregister);
}

}  // namespace

void register_pinned() {
  at::setHostAllocator(Runtime::get().kind().type, &memory(), kAllocatorOverReal);
}

c10::Allocator* pinned_allocator() {
  return &memory();
}

bool is_pinned(const void* address) {
  return memory().holds(address);
}

PinnedStats pinned_stats() {
  return memory().stats();
}

void reset_pinned_stats(bool peak) {
  memory().reset(peak);
}

void empty_pinned_cache() {
  memory().empty_cache();
}

}  // namespace torchport::vdev
