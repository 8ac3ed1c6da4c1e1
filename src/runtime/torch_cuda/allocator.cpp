// c10/cuda/CUDACachingAllocator.h: memory that extensions take from PyTorch's allocator. It is that
// of the virtual devices; what only PyTorch itself calls (pools of graphs, histories) is refused.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include "runtime/torch_cuda/torch_releases.h"

namespace c10::cuda::CUDACachingAllocator {

namespace {

[[noreturn]] void refuse_allocator(const char* what) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "torchport: extensions have no ", what,
                              " of the allocator of virtual devices");
}

class VirtualAllocator final : public CUDAAllocator {
 public:
  DataPtr allocate(size_t bytes) override { return own().allocate(bytes); }
  DeleterFnPtr raw_deleter() const override { return &delete_raw; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    own().copy_data(to, from, bytes);
  }

  void* raw_alloc(size_t bytes) override {
    if (bytes == 0) return nullptr;
    DataPtr data = allocate(bytes);
    void* address = data.get();
    const std::scoped_lock lock(mutex_);
    raw_.insert_or_assign(address, std::move(data));
    return address;
  }
  void* raw_alloc_with_stream(size_t bytes, cudaStream_t /*stream*/) override {
    return raw_alloc(bytes);
  }
  void raw_delete(void* address) override {
    DataPtr freed;
    const std::scoped_lock lock(mutex_);
    const auto found = raw_.find(address);
    if (found == raw_.end()) return;
    freed = std::move(found->second);
    raw_.erase(found);
  }
  static void delete_raw(void* address) { CUDACachingAllocator::get()->raw_delete(address); }

  void init(int /*device_count*/) override {}
  bool initialized() override { return true; }
  double getMemoryFraction(c10::DeviceIndex /*device*/) override { return 1.0; }
  void setMemoryFraction(double /*fraction*/, c10::DeviceIndex /*device*/) override {
    refuse_allocator("memory fraction");
  }
  std::vector<StreamSegmentSize> getExpandableSegmentSizes(c10::DeviceIndex /*device*/)
      TORCHPORT_OVERRIDES_SEGMENT_SIZES {
    return {};
  }
  void enable(bool /*value*/) override {}
  bool isEnabled() const override { return true; }
  void cacheInfo(c10::DeviceIndex /*device*/, size_t* largest) override { *largest = 0; }
  void* getBaseAllocation(void* address, size_t* size) override {
    if (size != nullptr) *size = 0;
    return address;
  }

  void emptyCache(MempoolId_t id) override {
    if (auto* device = of_device()) device->emptyCache(id);
  }
  void recordStream(const DataPtr& data, CUDAStream stream) override {
    if (auto* device = of_device()) device->recordStream(data, stream.unwrap());
  }
  CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override {
    if (auto* device = of_device()) return device->getDeviceStats(index);
    return {};
  }
  void resetAccumulatedStats(c10::DeviceIndex index) override {
    if (auto* device = of_device()) device->resetAccumulatedStats(index);
  }
  void resetPeakStats(c10::DeviceIndex index) override {
    if (auto* device = of_device()) device->resetPeakStats(index);
  }

  SnapshotInfo snapshot(MempoolId_t /*id*/ TORCHPORT_SNAPSHOT_TRACES) override {
    refuse_allocator("snapshot");
  }
  void attachOomRejectionObserver(OomRejectionObserver /*observer*/)
      TORCHPORT_OVERRIDES_OOM_REJECTION {
    refuse_allocator("observer");
  }
  void beginAllocateToPool(c10::DeviceIndex /*device*/, MempoolId_t /*id*/,
                           std::function<bool(cudaStream_t)> /*filter*/) override {
    refuse_allocator("private pool");
  }
  void endAllocateToPool(c10::DeviceIndex /*device*/, MempoolId_t /*id*/) override {}
  void releasePool(c10::DeviceIndex /*device*/, MempoolId_t /*id*/) override {}
  ShareableHandle shareIpcHandle(void* /*address*/) override { refuse_allocator("handle"); }
  std::shared_ptr<void> getIpcDevPtr(std::string /*handle*/) override {
    refuse_allocator("handle");
  }
  void recordHistory(bool /*enabled*/, CreateContextFn /*recorder*/, size_t /*entries*/,
                     RecordContext /*when*/, bool /*clear*/ TORCHPORT_SKIPPED_ACTIONS) override {
    refuse_allocator("history");
  }
  void attachOutOfMemoryObserver(OutOfMemoryObserver /*observer*/) override {
    refuse_allocator("observer");
  }
  void attachAllocatorTraceTracker(AllocatorTraceTracker /*tracker*/) override {
    refuse_allocator("trace");
  }
  void enablePeerAccess(c10::DeviceIndex /*device*/, c10::DeviceIndex /*other*/) override {}
  cudaError_t memcpyAsync(void* to, int /*to_device*/, const void* from, int /*from_device*/,
                          size_t bytes, cudaStream_t stream, bool /*peer*/) override {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  std::shared_ptr<AllocatorState> getCheckpointState(c10::DeviceIndex /*device*/,
                                                     MempoolId_t /*id*/) override {
    refuse_allocator("checkpoint");
  }
  CheckpointDelta setCheckpointPoolState(c10::DeviceIndex /*device*/,
                                         std::shared_ptr<AllocatorState> /*state*/) override {
    refuse_allocator("checkpoint");
  }
  std::string name() override { return "torchport"; }

 private:
  static c10::Allocator& own() { return *c10::GetAllocator(c10::DeviceType::CUDA); }
  static c10::DeviceAllocator* of_device() { return dynamic_cast<c10::DeviceAllocator*>(&own()); }

  std::mutex mutex_;
  std::map<void*, DataPtr> raw_;
};

CUDAAllocator* made() {
  static auto* one = new VirtualAllocator;  // lives as long as the process
  return one;
}

}  // namespace

std::atomic<CUDAAllocator*> allocator{made()};

}  // namespace c10::cuda::CUDACachingAllocator
