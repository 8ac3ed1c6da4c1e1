// What ATen asks of CUDA. The class must have this name and stand here before `import torch` looks
// for it: at::detail::getCUDAHooks() asks the registry once and keeps the answer for good.
#include <ATen/detail/CUDAHooksInterface.h>

#include "virtual/build_facts.h"
#include "virtual/generator.h"
#include "virtual/pinned.h"
#include "virtual/runtime.h"
#include "virtual/storage.h"
#include "virtual/streams.h"

namespace at {
namespace {

namespace vdev = torchport::vdev;

bool is_cuda() {
  return vdev::is_virtual(c10::DeviceType::CUDA) && vdev::Runtime::get().count() > 0;
}

struct CUDAHooks final : CUDAHooksInterface {
  explicit CUDAHooks(CUDAHooksArgs) {}

  void init() const override {}
  bool isBuilt() const override { return is_cuda(); }
  bool isAvailable() const override { return is_cuda(); }
  bool hasCUDA() const override { return is_cuda(); }
  bool hasCUDART() const override { return is_cuda(); }
  bool hasPrimaryContext(DeviceIndex) const override { return is_cuda(); }
  // Not cuDNN: with it, ATen hands convolutions, norms and RNNs to operators that only cuDNN has.
  // Python's torch.backends.cudnn answers by itself.
  bool compiledWithCuDNN() const override { return false; }
  bool hasCuDNN() const override { return false; }
  bool hasMAGMA() const override { return is_cuda(); }
  bool hasCuSOLVER() const override { return is_cuda(); }
  bool hasCuBLASLt() const override { return is_cuda(); }
  long versionCUDART() const override { return vdev::kCUDA; }
  long versionCuDNN() const override { return vdev::kCuDNN; }
  long versionRuntimeCuDNN() const override { return vdev::kCuDNN; }
  double batchnormMinEpsilonCuDNN() const override { return 0.0; }
  std::string showConfig() const override { return "  - Virtual CUDA of torchport\n"; }

  int getNumGPUs() const override { return vdev::Runtime::get().count(); }
  DeviceIndex deviceCount() const override { return vdev::Runtime::get().count(); }
  DeviceIndex current_device() const override { return vdev::current_device(); }
  DeviceIndex getCurrentDevice() const override { return vdev::current_device(); }
  void setCurrentDevice(DeviceIndex device) const override { vdev::set_current_device(device); }
  DeviceIndex exchangeDevice(DeviceIndex device) const override {
    const DeviceIndex old = vdev::current_device();
    if (device >= 0 && device != old) vdev::set_current_device(device);
    return old;
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const override {
    return exchangeDevice(device);
  }
  void deviceSynchronize(DeviceIndex) const override {}

  const Generator& getDefaultGenerator(DeviceIndex device) const override {
    return vdev::default_generator(device);
  }
  Generator getNewGenerator(DeviceIndex device) const override {
    return vdev::new_generator(device);
  }
  Allocator* getCUDADeviceAllocator() const override { return vdev::device_allocator(); }
  Allocator* getPinnedMemoryAllocator() const override { return vdev::pinned_allocator(); }
  bool isPinnedPtr(const void* data) const override { return vdev::is_pinned(data); }
  Device getDeviceFromPtr(void*) const override {
    return {c10::DeviceType::CUDA, vdev::current_device()};
  }
  int64_t cuFFTGetPlanCacheMaxSize(DeviceIndex) const override { return 4096; }
  int64_t cuFFTGetPlanCacheSize(DeviceIndex) const override { return 0; }
  void cuFFTSetPlanCacheMaxSize(DeviceIndex, int64_t) const override {}
  void cuFFTClearPlanCache(DeviceIndex) const override {}
};

// Not REGISTER_CUDA_HOOKS: a build with CUDA has hooks of the usual priority, and two of the same
// end the process.
C10_REGISTER_CLASS_WITH_PRIORITY(CUDAHooksRegistry, CUDAHooks, vdev::kOverReal, CUDAHooks)

}  // namespace
}  // namespace at
