#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "devices/device_kind.h"
#include "devices/visibility.h"
#include "host/probe/nvml_library.h"
#include "runtime/infer/usage.h"

namespace torchport::infer {

namespace {

using host::kNvmlSuccess;

constexpr unsigned kLongestUuid = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE

// The device that a number of CUDA stands for: CUDA_VISIBLE_DEVICES hides and reorders devices for
// CUDA, but not for NVML. None if there is no such device.
std::optional<devices::NamedDevice> visible_device(c10::DeviceIndex index) {
  const std::string variable(devices::find_kind("cuda")->visibility_variable);
  const char* visible = std::getenv(variable.c_str());
  if (visible == nullptr) return devices::NamedDevice{.number = index};
  const auto named = devices::named_devices(visible);
  const auto place = static_cast<std::uint8_t>(index);
  return place < named.size() ? std::optional(named[place]) : std::nullopt;
}

host::NvmlDevice device_with_number(const host::NvmlLibrary& nvml, unsigned number) {
  host::NvmlDevice device = nullptr;
  nvml.call("nvmlDeviceGetHandleByIndex_v2", number, &device);
  return device;
}

// A GPU's UUID may be shortened for CUDA, but not for NVML.
host::NvmlDevice device_with_uuid(const host::NvmlLibrary& nvml, const std::string& uuid) {
  host::NvmlDevice device = nullptr;
  if (nvml.call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &device) == kNvmlSuccess) return device;
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  for (unsigned number = 0; number < count; ++number) {
    std::array<char, kLongestUuid> text{};
    device = device_with_number(nvml, number);
    if (device != nullptr &&
        nvml.call("nvmlDeviceGetUUID", device, text.data(), kLongestUuid) == kNvmlSuccess &&
        std::string_view(text.data()).starts_with(uuid))
      return device;
  }
  return nullptr;
}

class NvmlUsage final : public UsageSource {
 public:
  NvmlUsage(std::unique_ptr<host::NvmlLibrary> nvml, host::NvmlDevice device)
      : nvml_(std::move(nvml)), device_(device) {}

  Usage look() override {
    Usage usage;
    host::NvmlUtilization busy{};
    if (nvml_->call("nvmlDeviceGetUtilizationRates", device_, &busy) == kNvmlSuccess)
      usage.busy = busy.gpu / 100.0;
    host::NvmlMemory memory{};
    if (nvml_->call("nvmlDeviceGetMemoryInfo", device_, &memory) == kNvmlSuccess) {
      usage.used = memory.used;
      usage.total = memory.total;
    }
    return usage;
  }

 private:
  std::unique_ptr<host::NvmlLibrary> nvml_;
  host::NvmlDevice device_;
};

}  // namespace

std::unique_ptr<UsageSource> nvml_usage(c10::DeviceIndex index) {
  auto nvml = std::make_unique<host::NvmlLibrary>();
  const auto named = visible_device(index);
  if (!nvml->there() || !named || nvml->call("nvmlInit_v2") != kNvmlSuccess) return nullptr;
  const host::NvmlDevice device =
      named->number >= 0 ? device_with_number(*nvml, static_cast<unsigned>(named->number))
                         : device_with_uuid(*nvml, named->uuid);
  if (device == nullptr) return nullptr;
  return std::make_unique<NvmlUsage>(std::move(nvml), device);
}

}  // namespace torchport::infer
