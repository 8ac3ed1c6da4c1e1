#include "runtime/virtual/core/host_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <pthread.h>

#include "runtime/device/host_pool.h"

namespace torchport::vdev {

namespace {

// Blocks from this size on come from the pool; the real caching allocator calls the same ones
// large.
constexpr std::size_t kLarge = std::size_t{1} << 20U;
// The smallest page size. An address that is not a multiple of it is not the pool's.
constexpr std::size_t kPage = 4096;
// Above the priority of torch's own allocator, which is 0.
constexpr std::uint8_t kPriority = 1;

// How many objects of HostMemoryOfDevice live on this thread.
thread_local int of_device = 0;

// Never destroyed: tensors may outlive every static object.
device::HostPool& pool() {
  static auto* pool = new device::HostPool();
  return *pool;
}

c10::Allocator* torchs_own() {
  return c10::GetDefaultCPUAllocator();
}

// One function for blocks of both origins, because raw_deallocate() calls it.
void free_block(void* address) {
  static const c10::DeleterFnPtr kFreeSmall = torchs_own()->raw_deleter();
  if (reinterpret_cast<std::uintptr_t>(address) % kPage == 0 && pool().free(address)) {
    if (of_device == 0) c10::profiledCPUMemoryReporter().Delete(address);
  } else if (of_device == 0) {
    kFreeSmall(address);
  } else {
    c10::free_cpu(address);
  }
}

class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* address = bytes < kLarge ? nullptr : large(bytes);
    if (address != nullptr) {
      if (of_device == 0) c10::profiledCPUMemoryReporter().New(address, bytes);
    } else if (of_device == 0) {
      address = torchs_own()->allocate(bytes).release_context();  // or throws with the reason
    } else {
      address = c10::alloc_cpu(bytes);  // what torch's own does but for the report
    }
    return {address, address, &free_block, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }

  void copy_data(void* destination, const void* source, std::size_t count) const override {
    default_copy_data(destination, source, count);
  }

 private:
  static void* large(std::size_t bytes) {
    if (void* address = pool().allocate(bytes)) return address;
    pool().release();
    return pool().allocate(bytes);
  }
};

}  // namespace

void install_host_allocator() {
  pthread_atfork([] { pool().lock(); }, [] { pool().unlock(); }, [] { pool().unlock(); });
  static auto& allocator = *new HostAllocator();  // memory is freed until the very end
  c10::SetCPUAllocator(&allocator, kPriority);
}

HostMemoryOfDevice::HostMemoryOfDevice() {
  ++of_device;
}

HostMemoryOfDevice::~HostMemoryOfDevice() {
  --of_device;
}

void release_host_memory() {
  pool().release();
}

}  // namespace torchport::vdev
