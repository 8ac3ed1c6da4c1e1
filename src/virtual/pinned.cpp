#include "virtual/pinned.h"

#include <map>
#include <mutex>

#include <c10/core/CPUAllocator.h>

namespace torchport::vdev {

namespace {

class PinnedMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr host = c10::GetCPUAllocator()->allocate(bytes);
    void* data = host.get();
    if (data == nullptr) return host;
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_[data] = {bytes, std::move(host)};
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    default_copy_data(destination, source, count);
  }

  bool holds(const void* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto after = blocks_.upper_bound(const_cast<void*>(address));
    if (after == blocks_.begin()) return false;
    const auto& [start, block] = *--after;
    return address < static_cast<const char*>(start) + block.bytes;
  }

 private:
  struct Block {
    std::size_t bytes = 0;
    c10::DataPtr host;
  };

  static void release(void* data);

  std::map<void*, Block> blocks_;
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
  }
}

}  // namespace

c10::Allocator* pinned_allocator() {
  return &memory();
}

bool is_pinned(const void* address) {
  return memory().holds(address);
}

}  // namespace torchport::vdev
