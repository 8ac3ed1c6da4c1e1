#include "runtime/infer/usage.h"

#include "runtime/infer/torch_releases.h"
#include "runtime/infer/virtual_devices.h"

namespace torchport::infer {

namespace {

class AcceleratorUsage final : public host::UsageSource {
 public:
  explicit AcceleratorUsage(c10::DeviceIndex index) : index_(index) {}

  host::Usage look() override {
    const auto [used, total] = memory_of_accelerator(index_);
    return {std::nullopt, used, total, {}};
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
