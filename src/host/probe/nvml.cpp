#include "host/probe/nvml.h"

#include <array>

#include <fmt/format.h>

#include "host/probe/nvml_library.h"

namespace torchport::host {

namespace {

struct PciInfo {
  std::array<char, 16> legacy_bus;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  std::array<char, 32> bus_id;
};
constexpr int kSuccess = kNvmlSuccess;

Gpu gpu_of(const NvmlLibrary& nvml, NvmlDevice device) {
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
  NvmlMemory memory{};
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
  const NvmlLibrary nvml;
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
      NvmlDevice device = nullptr;
      if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device) == kSuccess)
        answer.gpus.push_back(gpu_of(nvml, device));
    }
  }
  nvml.call("nvmlShutdown");
  return answer;
}

}  // namespace torchport::host
