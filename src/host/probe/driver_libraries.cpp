// Asks ROCm SMI and Level Zero. The interfaces are those of rocm_smi.h (ROCm SMI 5 to 7) and
// ze_api.h (Level Zero 1.x); the few calls and structures that are needed are declared here.
#include "host/probe/driver_libraries.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include <fmt/format.h>

#include "base/process.h"
#include "host/facts/facts_members.h"
#include "host/probe/dynamic_library.h"
#include "json/members.h"

namespace torchport::host {

namespace {

constexpr std::chrono::seconds kDriverTimeLimit{2};
constexpr int kNoFunction = -1;
constexpr std::uint32_t kMostDevices = 64;

class Library : public DynamicLibrary {
 public:
  using DynamicLibrary::DynamicLibrary;

  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    return call_or(kNoFunction, name, arguments...);
  }
};

template <std::size_t kSize>
std::string text_of(std::array<char, kSize>& buffer) {
  buffer.back() = '\0';
  return buffer.data();
}

DriverAnswer rocm_smi() {
  const Library smi({"librocm_smi64.so.1", "librocm_smi64.so.7", "librocm_smi64.so.6",
                     "librocm_smi64.so.5", "librocm_smi64.so", "/opt/rocm/lib/librocm_smi64.so"});
  if (!smi.there()) return {"not found", {}};
  if (const int code = smi.call("rsmi_init", std::uint64_t{0}); code != 0)
    return {fmt::format("rsmi_init gave {}", code), {}};
  DriverAnswer answer{"ok", {}};
  std::uint32_t count = 0;
  if (smi.call("rsmi_num_monitor_devices", &count) != 0) count = 0;
  for (std::uint32_t i = 0; i < std::min(count, kMostDevices); ++i) {
    Gpu gpu;
    gpu.vendor = "amd";
    std::array<char, 256> name{};
    if (smi.call("rsmi_dev_name_get", i, name.data(), name.size()) == 0) gpu.name = text_of(name);
    std::uint64_t memory = 0;
    if (smi.call("rsmi_dev_memory_total_get", i, 0 /* RSMI_MEM_TYPE_VRAM */, &memory) == 0)
      gpu.memory = memory;
    std::uint64_t place = 0;  // domain in the upper half, bus, device and function in the lower
    if (smi.call("rsmi_dev_pci_id_get", i, &place) == 0)
      gpu.bus = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", place >> 32U, place >> 8U & 0xFFU,
                            place >> 3U & 0x1FU, place & 7U);
    answer.gpus.push_back(std::move(gpu));
  }
  smi.call("rsmi_shut_down");
  return answer;
}

struct ZeDeviceProperties {  // ze_device_properties_t
  std::uint32_t stype = 3;   // ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES
  void* next = nullptr;
  std::uint32_t type = 0;
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint32_t flags = 0;
  std::uint32_t subdevice = 0;
  std::uint32_t clock = 0;
  std::uint64_t most_allocation = 0;
  std::array<std::uint32_t, 7> units{};
  std::uint64_t timer_resolution = 0;
  std::array<std::uint32_t, 2> timestamp_bits{};
  std::array<std::uint8_t, 16> uuid{};
  std::array<char, 256> name{};
};
static_assert(sizeof(ZeDeviceProperties) == 368);

Gpu gpu_of(const Library& ze, void* device) {
  Gpu gpu;
  ZeDeviceProperties properties;
  if (ze.call("zeDeviceGetProperties", device, &properties) != 0) return gpu;
  gpu.vendor = properties.vendor == 0x8086 ? "intel" : "";
  gpu.name = text_of(properties.name);
  gpu.id = fmt::format("{:04x}:{:04x}", properties.vendor, properties.device);
  return gpu;
}

DriverAnswer level_zero() {
  const Library ze({"libze_loader.so.1"});
  if (!ze.there()) return {"not found", {}};
  if (const int code = ze.call("zeInit", std::uint32_t{1}); code != 0)
    return {fmt::format("zeInit gave {:#x}", static_cast<unsigned>(code)), {}};
  DriverAnswer answer{"ok", {}};
  std::array<void*, kMostDevices> drivers{};
  std::uint32_t count = kMostDevices;
  if (ze.call("zeDriverGet", &count, drivers.data()) != 0) count = 0;
  for (std::uint32_t i = 0; i < std::min(count, kMostDevices); ++i) {
    std::array<void*, kMostDevices> devices{};
    std::uint32_t found = kMostDevices;
    if (ze.call("zeDeviceGet", drivers[i], &found, devices.data()) != 0) continue;
    for (std::uint32_t j = 0; j < std::min(found, kMostDevices); ++j)
      if (Gpu gpu = gpu_of(ze, devices[j]); gpu.vendor == "intel")
        answer.gpus.push_back(std::move(gpu));
  }
  return answer;
}

DriverAnswer asked(DriverAnswer (*ask)()) {
  const auto text = base::in_child(
      [ask] {
        DriverAnswer answer = ask();
        return json::text_of({{"state", answer.state}, {"gpus", json::written(answer.gpus)}}, -1);
      },
      kDriverTimeLimit);
  DriverAnswer answer{"no answer", {}};
  const json::Json whole =
      text ? json::Json::parse(*text, nullptr, /*allow_exceptions=*/false) : json::Json();
  if (!whole.is_object() ||
      !json::read(whole.value("gpus", json::Json::array()), answer.gpus, "gpus").empty())
    return answer;
  answer.state = whole.value("state", "no answer");
  return answer;
}

}  // namespace

DriverAnswer ask_rocm_smi() {
  return asked(&rocm_smi);
}
DriverAnswer ask_level_zero() {
  return asked(&level_zero);
}

void merge(std::vector<Gpu>& known, const std::vector<Gpu>& told) {
  std::vector<bool> taken(known.size());
  for (const Gpu& gpu : told) {
    std::size_t same = 0;
    // Level Zero 1.x does not tell addresses, so cards of one kind are told apart by their order.
    while (same < taken.size() &&
           (taken[same] || known[same].vendor != gpu.vendor ||
            (gpu.bus.empty() ? known[same].id != gpu.id : known[same].bus != gpu.bus)))
      ++same;
    if (same == taken.size()) {
      known.push_back(gpu);
      continue;
    }
    taken[same] = true;
    if (!gpu.name.empty()) known[same].name = gpu.name;
    if (gpu.memory > 0) known[same].memory = gpu.memory;
  }
}

}  // namespace torchport::host
