// Answers what ATen asks of CUDA. The class must have this name and be registered before `import
// torch` looks for it: at::detail::getCUDAHooks() asks the registry once and keeps the answer.
#include <ATen/detail/CUDAHooksInterface.h>

#include "runtime/virtual/core/build_facts.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/hooks/hooks.h"

namespace at {
namespace {

namespace vdev = torchport::vdev;

struct CUDAHooks final : vdev::Hooks<CUDAHooksInterface, c10::DeviceType::CUDA> {
  explicit CUDAHooks(CUDAHooksArgs) {}

  bool hasCUDA() const override { return is_here(); }
  bool hasCUDART() const override { return is_here(); }
  // No cuDNN: with it, ATen would hand convolutions, norms and RNNs to operators that only cuDNN
  // has. Python's torch.backends.cudnn has an answer of its own.
  bool compiledWithCuDNN() const override { return false; }
  bool hasCuDNN() const override { return false; }
  bool hasMAGMA() const override { return is_here(); }
  bool hasCuSOLVER() const override { return is_here(); }
  bool hasCuBLASLt() const override { return is_here(); }
  long versionCUDART() const override { return build().cuda; }
  long versionCuDNN() const override { return build().cudnn; }
  long versionRuntimeCuDNN() const override { return build().cudnn; }
  double batchnormMinEpsilonCuDNN() const override { return 0.0; }
  std::string showConfig() const override { return "  - Virtual CUDA of torchport\n"; }

  int getNumGPUs() const override { return deviceCount(); }
  DeviceIndex current_device() const override { return getCurrentDevice(); }
  void deviceSynchronize(DeviceIndex) const override {}
  Allocator* getCUDADeviceAllocator() const override { return vdev::device_allocator(); }
  int64_t cuFFTGetPlanCacheMaxSize(DeviceIndex) const override { return 4096; }
  int64_t cuFFTGetPlanCacheSize(DeviceIndex) const override { return 0; }
  void cuFFTSetPlanCacheMaxSize(DeviceIndex, int64_t) const override {}
  void cuFFTClearPlanCache(DeviceIndex) const override {}

 private:
  static const vdev::CudaBuild& build() {
    const auto* profile = vdev::Runtime::get().spec().profile;
    return profile == nullptr ? vdev::cuda_build_for(99, 0)
                              : vdev::cuda_build_for(profile->major, profile->minor);
  }
};

// If devices are hidden, a build with CUDA answers like one without: the interface's defaults are
// what such a build answers.
struct HiddenCUDAHooks final : CUDAHooksInterface {};

std::unique_ptr<CUDAHooksInterface> make_hooks(CUDAHooksArgs args) {
  if (vdev::Runtime::get().spec().kind == "none") return std::make_unique<HiddenCUDAHooks>();
  return std::make_unique<CUDAHooks>(args);
}

// REGISTER_CUDA_HOOKS would not do: a build with CUDA has hooks of the usual priority, and two
// entries of the same priority end the process.
C10_REGISTER_TYPED_CREATOR_WITH_PRIORITY(CUDAHooksRegistry, "CUDAHooks", vdev::kOverReal,
                                         make_hooks)

}  // namespace
}  // namespace at
