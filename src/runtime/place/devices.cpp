// Finds the available devices by asking torch's own hooks.
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <vector>

#include <ATen/Context.h>
#include <torchport/device.h>

#include "devices/device_kind.h"
#include "devices/visibility.h"
#include "runtime/place/torch_releases.h"

namespace torchport {

namespace {

std::string name_of(c10::DeviceType kind) {
  return c10::DeviceTypeName(kind, /*lower_case=*/true);
}

// The variables that hide devices of a kind.
std::vector<std::string_view> visibility_variables(c10::DeviceType type) {
  // The devices of ROCm have the name of CUDA's, except where c10 tells them apart.
  if (type == c10::DeviceType::HIP) type = c10::DeviceType::CUDA;
  for (const devices::DeviceKind& kind : devices::kinds()) {
    if (kind.device_type != static_cast<int>(type) || kind.visibility_variable.empty()) continue;
    std::vector<std::string_view> variables{kind.visibility_variable};
    variables.insert(variables.end(), kind.rocm_visibility_variables.begin(),
                     kind.rocm_visibility_variables.end());
    return variables;
  }
  return {};
}

// Why there is no device of a kind that torch was built for.
std::string why_none_shown(c10::DeviceType kind) {
  for (const std::string_view name : visibility_variables(kind)) {
    const std::string variable(name);
    const char* value = std::getenv(variable.c_str());
    if (value != nullptr && devices::named_devices(value).empty())
      return "this torch is built for it, but " + variable + "=\"" + value +
             "\" hides every device";
  }
  return "this torch is built for it but finds no device: the driver is missing, or torch cannot "
         "use it";
}

}  // namespace

int device_count(c10::DeviceType kind, std::string* why_not) {
  const auto refuse = [&](std::string reason) {
    if (why_not != nullptr) *why_not = std::move(reason);
    return 0;
  };
  if (kind == c10::DeviceType::CPU || kind == c10::DeviceType::Meta) return 1;
  if (!at::isAccelerator(kind)) return refuse("torch does not know this accelerator");
  if (kind == c10::DeviceType::PrivateUse1 && !at::isPrivateUse1HooksRegistered())
    return refuse("no backend has registered itself");
  const auto& hooks = at::globalContext().getAcceleratorHooksInterface(kind);
  if (!hooks.isBuilt())
    return refuse("this torch (" + torch_version() + ") is built without " + name_of(kind));
  if (!hooks.isAvailable()) return refuse(why_none_shown(kind));
  const c10::DeviceIndex count = hooks.deviceCount();
  return count > 0 ? static_cast<std::uint8_t>(count) : refuse(why_none_shown(kind));
}

std::size_t free_memory(c10::Device device) {
  if (!device.is_cpu()) {
    const auto free = free_bytes_of_accelerator(device.index());
    TORCH_CHECK(free, "torchport: torch ", torch_version(), " does not tell C++ what memory of ",
                device.str(), " is free; torch 2.10 and later do");
    return *free;
  }
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::size_t kibibytes = 0;
  while (word != "MemAvailable:" && file >> word) {
  }
  TORCH_CHECK(file >> kibibytes, "torchport: /proc/meminfo does not say what memory is available");
  return kibibytes * 1024;
}

}  // namespace torchport
