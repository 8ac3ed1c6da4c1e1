// Answers what ATen asks of CUDA. The class must have this name and be registered before `import
// torch` looks for it: at::detail::getCUDAHooks() asks the registry once and keeps the answer.
#include <array>
#include <atomic>

#include <ATen/detail/CUDAHooksInterface.h>

#include "runtime/device/spec.h"
#include "runtime/virtual/core/build_facts.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/hooks/hooks.h"
#include "runtime/virtual/torch_releases.h"

namespace at {
namespace {

namespace vdev = torchport::vdev;

struct CUDAHooks final : vdev::Hooks<CUDAHooksInterface, c10::DeviceType::CUDA> {
  explicit CUDAHooks(CUDAHooksArgs) {}

  bool hasCUDA() const override { return is_here(); }
  bool hasCUDART() const override { return is_here(); }
  // With it, ATen hands norms and recurrent layers to operators that only cuDNN has
  // (operators/cudnn*.cpp).
  bool compiledWithCuDNN() const override { return is_here(); }
  bool hasCuDNN() const override { return is_here(); }
  bool supportsDilatedConvolutionWithCuDNN() const override { return is_here(); }
  bool supportsDepthwiseConvolutionWithCuDNN() const override { return is_at_least(kVolta); }
  bool supportsBFloat16ConvolutionWithCuDNNv8() const override { return is_at_least(kAmpere); }
  bool supportsBFloat16RNNWithCuDNN() const TORCHPORT_OVERRIDES_BFLOAT16_RNN {
    constexpr long kFirstCudnn = 91300;
    return is_at_least(kAmpere) && build().cudnn >= kFirstCudnn;
  }
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
  int64_t cuFFTGetPlanCacheMaxSize(DeviceIndex device) const override { return plans_of(device); }
  int64_t cuFFTGetPlanCacheSize(DeviceIndex) const override { return 0; }
  void cuFFTSetPlanCacheMaxSize(DeviceIndex device, int64_t size) const override {
    TORCH_CHECK(size >= 0, "cuFFT plan cache size must be non-negative, but got ", size);
    plans_of(device) = size;
  }
  void cuFFTClearPlanCache(DeviceIndex) const override {}

 private:
  // The major numbers of the first devices of these architectures.
  static constexpr int kVolta = 7;
  static constexpr int kAmpere = 8;

  // How many plans each device may keep (CUFFT_DEFAULT_CACHE_SIZE). None is ever kept.
  static std::atomic<int64_t>& plans_of(DeviceIndex device) {
    static auto* const kKept = [] {
      auto* all = new std::array<std::atomic<int64_t>, torchport::device::kMaxDevices>();
      for (auto& one : *all) one = 4096;
      return all;
    }();
    return kKept->at(static_cast<std::size_t>(device < 0 ? vdev::current_device() : device));
  }
  static bool is_at_least(int major) {
    const auto* profile = vdev::Runtime::get().profile();
    return is_here() && (profile == nullptr || profile->major >= major);
  }
  static const vdev::CudaBuild& build() {
    const auto* profile = vdev::Runtime::get().profile();
    return profile == nullptr ? vdev::cuda_build_for(99, 0)
                              : vdev::cuda_build_for(profile->major, profile->minor);
  }
};

// If devices are hidden, a build with CUDA answers like one without: the interface's defaults are
// what such a build answers.
struct HiddenCUDAHooks final : CUDAHooksInterface {};

std::unique_ptr<CUDAHooksInterface> make_hooks(CUDAHooksArgs args) {
  if (vdev::Runtime::get().kind_name() == "none") return std::make_unique<HiddenCUDAHooks>();
  return std::make_unique<CUDAHooks>(args);
}

// REGISTER_CUDA_HOOKS would not do: a build with CUDA has hooks of the usual priority, and two
// entries of the same priority end the process.
C10_REGISTER_TYPED_CREATOR_WITH_PRIORITY(CUDAHooksRegistry, "CUDAHooks", vdev::kOverReal,
                                         make_hooks)

}  // namespace
}  // namespace at
