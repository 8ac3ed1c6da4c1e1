// The interface is that of the NVML API Reference: nvml.h is not needed for the few calls here.
#include "host/nvml.h"

#include <array>
#include <memory>

#include <dlfcn.h>
#include <fmt/format.h>

namespace torchport::host {

namespace {

using Device = void*;
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct PciInfo {
  std::array<char, 16> legacy_bus;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  std::array<char, 32> bus_id;
};
constexpr int kSuccess = 0;

class Library {
 public:
  Library() : handle_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  [[nodiscard]] bool there() const { return handle_ != nullptr; }

  // The result of a call, or a code of "function not found" where the library has it not.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    constexpr int kNotFound = 13;
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(handle_, name));
    return function == nullptr ? kNotFound : function(arguments...);
  }

  [[nodiscard]] std::string words(int code) const {
    const auto function = reinterpret_cast<const char* (*)(int)>(dlsym(handle_, "nvmlErrorString"));
    return function == nullptr ? fmt::format("error {}", code) : function(code);
  }

 private:
  void* handle_;
};

Gpu gpu_of(const Library& nvml, Device device) {
  Gpu gpu;
  gpu.vendor = "nvidia";
  gpu.driver = "nvidia";
  std::array<char, 96> name{};
  if (nvml.call("nvmlDeviceGetName", device, name.data(), static_cast<unsigned>(name.size())) ==
      kSuccess)
    gpu.name = name.data();
  int major = 0;
  int minor = 0;
  if (nvml.call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor) == kSuccess)
    gpu.capability = fmt::format("{}.{}", major, minor);
  Memory memory{};
  if (nvml.call("nvmlDeviceGetMemoryInfo", device, &memory) == kSuccess) gpu.memory = memory.total;
  unsigned current = 0;
  unsigned pending = 0;
  gpu.mig =
      nvml.call("nvmlDeviceGetMigMode", device, &current, &pending) == kSuccess && current == 1;
  PciInfo pci{};
  if (nvml.call("nvmlDeviceGetPciInfo_v3", device, &pci) == kSuccess) {
    gpu.bus = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
    gpu.id = fmt::format("{:04x}:{:04x}", pci.device_id & 0xFFFFU, pci.device_id >> 16U);
  }
  return gpu;
}

}  // namespace

NvmlAnswer ask_nvml() {
  NvmlAnswer answer;
  const Library nvml;
  if (!nvml.there()) {
    answer.state = "not found";
    return answer;
  }
  if (const int code = nvml.call("nvmlInit_v2"); code != kSuccess) {
    answer.state = nvml.words(code);
    return answer;
  }
  answer.state = "ok";
  std::array<char, 96> version{};
  if (nvml.call("nvmlSystemGetDriverVersion", version.data(),
                static_cast<unsigned>(version.size())) == kSuccess)
    answer.driver = version.data();
  int cuda = 0;
  if (nvml.call("nvmlSystemGetCudaDriverVersion_v2", &cuda) == kSuccess)
    answer.cuda = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  unsigned count = 0;
  if (nvml.call("nvmlDeviceGetCount_v2", &count) == kSuccess) {
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device) == kSuccess)
        answer.gpus.push_back(gpu_of(nvml, device));
    }
  }
  nvml.call("nvmlShutdown");
  return answer;
}

}  // namespace torchport::host
