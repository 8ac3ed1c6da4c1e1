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
constexpr int kGpuIsLost = 15;  // NVML_ERROR_GPU_IS_LOST

// nvmlGpuFabricInfo_t. Drivers before 525 do not have its function.
struct FabricInfo {
  std::array<unsigned char, 16> cluster;
  int status;
  unsigned clique;
  unsigned char state;
};

std::string uuid_of(const NvmlLibrary& nvml, NvmlDevice device) {
  std::array<char, 96> uuid{};
  const int code =
      nvml.call("nvmlDeviceGetUUID", device, uuid.data(), static_cast<unsigned>(uuid.size()));
  return code == kSuccess ? uuid.data() : std::string();
}

// nvmlComputeMode_t, nvmlGpuFabricState_t: what is not listed is no matter for torch.
std::string compute_mode_of(const NvmlLibrary& nvml, NvmlDevice device) {
  int mode = -1;
  if (nvml.call("nvmlDeviceGetComputeMode", device, &mode) != kSuccess) return {};
  if (mode == 0) return "default";
  if (mode == 2) return "prohibited";
  return mode == 3 ? "exclusive process" : "";
}

std::string fabric_of(const NvmlLibrary& nvml, NvmlDevice device) {
  FabricInfo info{};
  if (nvml.call("nvmlDeviceGetGpuFabricInfo", device, &info) != kSuccess) return {};
  if (info.state == 1) return "not started";
  if (info.state == 2) return "in progress";
  return info.state == 3 ? "completed" : "";
}

std::string memory_fault_of(const NvmlLibrary& nvml, NvmlDevice device) {
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (nvml.call("nvmlDeviceGetRemappedRows", device, &corrected, &uncorrected, &pending, &failed) !=
      kSuccess)
    return {};
  if (failed != 0) return "rows-failed";
  return pending != 0 ? "rows-pending" : "";
}

void add_instances(const NvmlLibrary& nvml, NvmlDevice device, Gpu& gpu) {
  unsigned most = 0;
  if (nvml.call("nvmlDeviceGetMaxMigDeviceCount", device, &most) != kSuccess) return;
  gpu.mig_instances = 0;
  for (unsigned i = 0; i < most; ++i) {
    NvmlDevice instance = nullptr;
    if (nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", device, i, &instance) != kSuccess)
      continue;
    ++*gpu.mig_instances;
    if (std::string uuid = uuid_of(nvml, instance); !uuid.empty())
      gpu.mig_uuids.push_back(std::move(uuid));
  }
}

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
  if (gpu.mig) add_instances(nvml, device, gpu);
  gpu.uuid = uuid_of(nvml, device);
  gpu.compute_mode = compute_mode_of(nvml, device);
  gpu.fabric = fabric_of(nvml, device);
  gpu.fault = memory_fault_of(nvml, device);
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
    bool lost = false;
    for (unsigned i = 0; i < count; ++i) {
      NvmlDevice device = nullptr;
      const int code = nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device);
      if (code == kSuccess) answer.gpus.push_back(gpu_of(nvml, device));
      lost = lost || code == kGpuIsLost;
    }
    // One of several lost cards does not keep torch from the others.
    if (lost && answer.gpus.empty()) answer.state = nvml.words(kGpuIsLost);
  }
  nvml.call("nvmlShutdown");
  return answer;
}

}  // namespace torchport::host
