// Answers what ATen asks of MPS. As with CUDA, the class must have this name and be registered
// before `import torch`.
#include <chrono>
#include <map>
#include <mutex>

#include <ATen/detail/MPSHooksInterface.h>

#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/hooks/hooks.h"
#include "runtime/virtual/torch_releases.h"

namespace at {
namespace {

namespace vdev = torchport::vdev;

const torchport::device::MemoryModel& memory() {
  return vdev::Runtime::get().memory(0);
}

// The events of torch.mps.Event: each is known by a number and is over when it is recorded.
class Events {
 public:
  using Clock = std::chrono::steady_clock;

  uint32_t acquire() {
    const std::lock_guard<std::mutex> lock(mutex_);
    times_.emplace(++last_, Clock::time_point());
    return last_;
  }
  void release(uint32_t event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    times_.erase(event);
  }
  void record(uint32_t event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    times_.at(event) = Clock::now();
  }
  double elapsed(uint32_t first, uint32_t second) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto never = Clock::time_point();
    TORCH_CHECK(times_.at(first) != never && times_.at(second) != never, "Events ", first, " and ",
                second, " have to be recorded before their times are compared");
    return std::chrono::duration<double, std::milli>(times_.at(second) - times_.at(first)).count();
  }

 private:
  std::mutex mutex_;
  std::map<uint32_t, Clock::time_point> times_;
  uint32_t last_ = 0;
};

Events& events() {
  static auto* events = new Events();
  return *events;
}

// PyTorch's own words where there is no MPS (ATen/detail/MPSHooksInterface.h): programs find out by
// them which accelerator they have.
struct MPSHooks final : vdev::Hooks<MPSHooksInterface, c10::DeviceType::MPS> {
  explicit MPSHooks(MPSHooksArgs = {}) {}  // torch 2.12 passes them, 2.13 does not

  bool hasMPS() const override { return is_here(); }
  // Answers as macOS 15, the last version that runs on all of Apple's own processors.
  bool isOnMacOSorNewer(unsigned major, unsigned minor) const override {
    need(__func__);
    return major < 15 || (major == 15 && minor == 0);
  }
  Allocator* getMPSDeviceAllocator() const override {
    need(__func__);
    return vdev::device_allocator();
  }

  void deviceSynchronize() const override { need(__func__); }
  void commitStream() const override { need(__func__); }
  void emptyCache() const override {
    need(__func__);
    vdev::empty_caches();
  }
  size_t getCurrentAllocatedMemory() const override {
    need(__func__);
    return static_cast<size_t>(
        memory().stats().allocated_bytes.of[torchport::device::PoolStat::kAll].current);
  }
  size_t getDriverAllocatedMemory() const override {
    need(__func__);
    return memory().total() - memory().device_free();
  }
  // Metal recommends two thirds of the unified memory.
  size_t getRecommendedMaxMemory() const override {
    need(__func__);
    return memory().total() / 3 * 2;
  }
  size_t getMaxBufferLength() const TORCHPORT_OVERRIDES_BUFFER_LENGTH {
    need(__func__);
    return memory().total() / 2;
  }
  void setMemoryFraction(double ratio) const override {
    need(__func__);
    vdev::Runtime::get().memory(0).set_fraction(ratio == 0 ? 1 : ratio);
  }
  void profilerStartTrace(const std::string&, bool) const override {
    need(__func__);
    no_profiler();
  }
  void profilerStopTrace() const override {
    need(__func__);
    no_profiler();
  }

  uint32_t acquireEvent(bool) const override {
    need(__func__);
    return events().acquire();
  }
  void releaseEvent(uint32_t event) const override { events().release(event); }
  void recordEvent(uint32_t event) const override {
    need(__func__);
    events().record(event);
  }
  void waitForEvent(uint32_t) const override { need(__func__); }
  void synchronizeEvent(uint32_t) const override { need(__func__); }
  bool queryEvent(uint32_t) const override {
    need(__func__);
    return true;
  }
  double elapsedTimeOfEvents(uint32_t first, uint32_t second) const override {
    need(__func__);
    return events().elapsed(first, second);
  }

 private:
  static void need(const char* function) {
    TORCH_CHECK(is_here(), "Cannot execute ", function, "() without MPS backend.");
  }
  [[noreturn]] static void no_profiler() {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false,
        "torchport: virtual devices do not support torch.mps.profiler: there are no OS signposts");
  }
};

REGISTER_MPS_HOOKS(MPSHooks)

}  // namespace
}  // namespace at
