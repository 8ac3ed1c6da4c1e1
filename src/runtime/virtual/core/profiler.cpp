#include "runtime/virtual/core/profiler.h"

#include <chrono>
#include <memory>

#include <torch/csrc/profiler/stubs/base.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

namespace {

using Clock = std::chrono::steady_clock;
using torch::profiler::impl::ProfilerVoidEventStub;

// Times events around operators. NVTX ranges go nowhere, because there is no tool to read them.
struct Stubs final : torch::profiler::impl::ProfilerStubs {
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event,
              std::int64_t* cpu_ns) const override {
    if (device != nullptr) *device = current_device();
    const auto now = Clock::now();
    *event = std::make_shared<Clock::time_point>(now);
    if (cpu_ns != nullptr)
      *cpu_ns =
          std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  }
  float elapsed(const ProfilerVoidEventStub* first,
                const ProfilerVoidEventStub* second) const override {
    const auto time_of = [](const ProfilerVoidEventStub& event) {
      return *static_cast<const Clock::time_point*>(event.get());
    };
    return std::chrono::duration<float, std::micro>(time_of(*second) - time_of(*first)).count();
  }
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> operation) const override {
    const c10::DeviceIndex before = current_device();
    for (c10::DeviceIndex i = 0; i < Runtime::get().count(); ++i) {
      set_current_device(i);
      operation(i);
    }
    set_current_device(before);
  }
  void synchronize() const override {}
};

}  // namespace

void register_profiler() {
  // torch.autograd.profiler asks for the events of CUDA and PrivateUse1 only; other kinds in torch
  // have no such stubs.
  if (Runtime::get().kind().type != c10::DeviceType::CUDA) return;
  static Stubs stubs;
  torch::profiler::impl::registerCUDAMethods(&stubs);
}

}  // namespace torchport::vdev
