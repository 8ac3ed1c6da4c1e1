#include "runtime/infer/usage.h"

#include <ATen/DeviceAccelerator.h>
#include <torch/version.h>

#include "runtime/infer/virtual_devices.h"

namespace torchport::infer {

namespace {

class AcceleratorUsage final : public host::UsageSource {
 public:
  explicit AcceleratorUsage(c10::DeviceIndex index) : index_(index) {}

  host::Usage look() override {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 10
    const auto [free, total] = at::accelerator::getMemoryInfo(index_);
    return {std::nullopt, total - free, total, {}};
#else
    const auto stats = at::accelerator::getDeviceStats(index_);
    return {std::nullopt, static_cast<std::uint64_t>(stats.reserved_bytes[0].current), 0, {}};
#endif
  }

 private:
  c10::DeviceIndex index_;
};

}  // namespace

std::unique_ptr<host::UsageSource> usage_of(c10::Device device) {
  if (device.is_cpu()) return host::host_usage(host::HostMemory::kOfThisProcess);
  if (device.is_cuda() && !wants_virtual_devices()) {
    if (auto nvml = host::nvml_usage(device.index())) return nvml;
  }
  return std::make_unique<AcceleratorUsage>(device.index());
}

}  // namespace torchport::infer
