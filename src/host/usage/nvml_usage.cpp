#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "devices/device_kind.h"
#include "devices/visibility.h"
#include "host/probe/nvml_library.h"
#include "host/usage/usage.h"

namespace torchport::host {

namespace {

constexpr unsigned kLongestUuid = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE

// The device that a number of CUDA stands for: CUDA_VISIBLE_DEVICES hides and reorders devices for
// CUDA, but not for NVML. None if there is no such device.
std::optional<devices::NamedDevice> visible_device(int index) {
  const std::string variable(devices::find_kind("cuda")->visibility_variable);
  const char* visible = std::getenv(variable.c_str());
  if (visible == nullptr) return devices::NamedDevice{.number = index};
  const auto named = devices::named_devices(visible);
  const auto place = static_cast<std::size_t>(index);
  return place < named.size() ? std::optional(named[place]) : std::nullopt;
}

NvmlDevice device_with_number(const NvmlLibrary& nvml, unsigned number) {
  NvmlDevice device = nullptr;
  nvml.call("nvmlDeviceGetHandleByIndex_v2", number, &device);
  return device;
}

// A GPU's UUID may be shortened for CUDA, but not for NVML.
NvmlDevice device_with_uuid(const NvmlLibrary& nvml, const std::string& uuid) {
  NvmlDevice device = nullptr;
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

struct NvmlProcess {  // nvmlProcessInfo_t
  unsigned pid;
  unsigned long long used;  // bytes; all bits set if the driver does not tell
  unsigned gpu_instance;
  unsigned compute_instance;
};

class NvmlUsage final : public UsageSource {
 public:
  NvmlUsage(std::shared_ptr<const NvmlLibrary> nvml, NvmlDevice device)
      : nvml_(std::move(nvml)), device_(device) {}

  Usage look() override {
    Usage usage;
    NvmlUtilization busy{};
    if (nvml_->call("nvmlDeviceGetUtilizationRates", device_, &busy) == kNvmlSuccess)
      usage.busy = busy.gpu / 100.0;
    NvmlMemory memory{};
    if (nvml_->call("nvmlDeviceGetMemoryInfo", device_, &memory) == kNvmlSuccess) {
      usage.used = memory.used;
      usage.total = memory.total;
    }
    add_processes(usage);
    return usage;
  }

 private:
  void add_processes(Usage& usage) const {
    std::array<NvmlProcess, kMostProcesses> processes{};
    auto count = static_cast<unsigned>(processes.size());
    if (nvml_->call("nvmlDeviceGetComputeRunningProcesses_v3", device_, &count, processes.data()) !=
        kNvmlSuccess)
      return;
    for (unsigned i = 0; i < count && i < processes.size(); ++i) {
      const bool known = processes.at(i).used != ~0ULL;
      usage.processes[static_cast<pid_t>(processes.at(i).pid)] += known ? processes.at(i).used : 0;
    }
  }

  static constexpr std::size_t kMostProcesses = 256;
  std::shared_ptr<const NvmlLibrary> nvml_;
  NvmlDevice device_;
};

// NVML, ready for use; null if the machine does not have it.
std::shared_ptr<const NvmlLibrary> started_nvml() {
  auto nvml = std::make_shared<const NvmlLibrary>();
  return nvml->there() && nvml->call("nvmlInit_v2") == kNvmlSuccess ? nvml : nullptr;
}

std::string model_of(const NvmlLibrary& nvml, NvmlDevice device) {
  std::array<char, kLongestUuid> text{};  // NVML_DEVICE_NAME_V2_BUFFER_SIZE is the same
  const int result = nvml.call("nvmlDeviceGetName", device, text.data(), kLongestUuid);
  return result == kNvmlSuccess ? text.data() : std::string();
}

}  // namespace

std::unique_ptr<UsageSource> nvml_usage(int index) {
  const auto named = visible_device(index);
  const auto nvml = named ? started_nvml() : nullptr;
  if (nvml == nullptr) return nullptr;
  const NvmlDevice device = named->number >= 0
                                ? device_with_number(*nvml, static_cast<unsigned>(named->number))
                                : device_with_uuid(*nvml, named->uuid);
  if (device == nullptr) return nullptr;
  return std::make_unique<NvmlUsage>(nvml, device);
}

std::vector<WatchedDevice> nvml_devices() {
  std::vector<WatchedDevice> all;
  const auto nvml = started_nvml();
  unsigned count = 0;
  if (nvml == nullptr || nvml->call("nvmlDeviceGetCount_v2", &count) != kNvmlSuccess) return all;
  for (unsigned number = 0; number < count; ++number) {
    const NvmlDevice device = device_with_number(*nvml, number);
    if (device == nullptr) continue;
    all.push_back({"cuda:" + std::to_string(number), model_of(*nvml, device),
                   std::make_unique<NvmlUsage>(nvml, device)});
  }
  return all;
}

}  // namespace torchport::host
