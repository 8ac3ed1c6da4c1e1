#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "host/probe/nvml_library.h"
#include "runtime/infer/usage.h"

namespace torchport::infer {

namespace {

using host::kNvmlSuccess;

// The device that a number of CUDA stands for: CUDA_VISIBLE_DEVICES hides and reorders devices for
// CUDA, but not for NVML.
std::string visible_device(c10::DeviceIndex index) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return std::to_string(index);
  std::istringstream names(visible);
  std::string name;
  for (int i = 0; std::getline(names, name, ','); ++i) {
    if (i == index) return name;
  }
  return {};
}

// Finds a device by NVML's number or by UUID. Null if there is none.
host::NvmlDevice device_named(const host::NvmlLibrary& nvml, const std::string& name) {
  host::NvmlDevice device = nullptr;
  const bool number = name.find_first_not_of("0123456789") == std::string::npos;
  const int found =
      number ? nvml.call("nvmlDeviceGetHandleByIndex_v2",
                         static_cast<unsigned>(std::strtoul(name.c_str(), nullptr, 10)), &device)
             : nvml.call("nvmlDeviceGetHandleByUUID", name.c_str(), &device);
  return found == kNvmlSuccess ? device : nullptr;
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
  const std::string name = visible_device(index);
  if (!nvml->there() || name.empty() || nvml->call("nvmlInit_v2") != kNvmlSuccess) return nullptr;
  const host::NvmlDevice device = device_named(*nvml, name);
  if (device == nullptr) return nullptr;
  return std::make_unique<NvmlUsage>(std::move(nvml), device);
}

}  // namespace torchport::infer
