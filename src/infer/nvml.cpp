// NVML, which comes with NVIDIA's driver and not with torch. Its functions are found by name; what
// is declared here is what https://docs.nvidia.com/deploy/nvml-api says of them.
#include <cstdlib>
#include <sstream>

#include <dlfcn.h>

#include "infer/usage.h"

namespace torchport::infer {

namespace {

using Device = void*;  // nvmlDevice_t
using Return = int;    // nvmlReturn_t, 0: success

struct Utilization {  // nvmlUtilization_t: percent of the last sample period
  unsigned gpu;
  unsigned memory;
};

struct Memory {  // nvmlMemory_t: bytes
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

template <class Signature>
Signature* function(void* library, const char* name) {
  return reinterpret_cast<Signature*>(dlsym(library, name));
}

// The device that CUDA's number stands for: CUDA_VISIBLE_DEVICES hides and reorders, NVML does not.
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

class NvmlUsage final : public UsageSource {
 public:
  NvmlUsage(void* library, Device device)
      : utilization_(
            function<Return(Device, Utilization*)>(library, "nvmlDeviceGetUtilizationRates")),
        memory_(function<Return(Device, Memory*)>(library, "nvmlDeviceGetMemoryInfo")),
        device_(device) {}

  Usage look() override {
    Usage usage;
    Utilization busy{};
    if (utilization_ != nullptr && utilization_(device_, &busy) == 0) usage.busy = busy.gpu / 100.0;
    Memory memory{};
    if (memory_ != nullptr && memory_(device_, &memory) == 0) {
      usage.used = memory.used;
      usage.total = memory.total;
    }
    return usage;
  }

 private:
  Return (*utilization_)(Device, Utilization*);
  Return (*memory_)(Device, Memory*);
  Device device_;
};

}  // namespace

std::unique_ptr<UsageSource> nvml_usage(c10::DeviceIndex index) {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto init = function<Return()>(library, "nvmlInit_v2");
  const std::string name = visible_device(index);
  if (init == nullptr || name.empty() || init() != 0) return nullptr;
  Device device = nullptr;
  Return found = -1;
  if (name.find_first_not_of("0123456789") == std::string::npos) {
    const auto get = function<Return(unsigned, Device*)>(library, "nvmlDeviceGetHandleByIndex_v2");
    if (get != nullptr) found = get(static_cast<unsigned>(std::stoul(name)), &device);
  } else {
    const auto get = function<Return(const char*, Device*)>(library, "nvmlDeviceGetHandleByUUID");
    if (get != nullptr) found = get(name.c_str(), &device);
  }
  if (found != 0) return nullptr;
  return std::make_unique<NvmlUsage>(library, device);
}

}  // namespace torchport::infer
