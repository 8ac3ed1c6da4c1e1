#include "runtime/infer/virtual_devices.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <c10/core/Device.h>
#include <dlfcn.h>

#include "devices/device_kind.h"
#include "runtime/device/spec.h"

namespace torchport::infer {

namespace {

std::filesystem::path library() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / "libtorchport_virtual.so";
}

}  // namespace

bool wants_virtual_devices() {
  const char* wanted = std::getenv(device::kVariable);
  return wanted != nullptr && *wanted != '\0' && std::string_view(wanted) != "none";
}

void set_up_virtual_devices() {
  if (!wants_virtual_devices()) return;
  const std::string path = library().string();
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
    throw std::runtime_error(std::string(device::kVariable) +
                             " is set, but the virtual devices cannot be loaded: " + dlerror());
}

void load_accelerators() {
  Dl_info place{};
  if (dladdr(reinterpret_cast<const void*>(&c10::isValidDeviceType), &place) == 0) return;
  std::error_code error;
  const auto folder = std::filesystem::canonical(place.dli_fname, error).parent_path();
  for (const devices::DeviceKind& kind : devices::kinds()) {
    for (const std::string_view name : kind.libraries) {
      const auto path = folder / name;
      // A build of torch for the CPU does not have it.
      if (!std::filesystem::exists(path, error)) continue;
      if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
        throw std::runtime_error("this torch has " + std::string(name) +
                                 ", but it cannot be loaded: " + dlerror());
    }
  }
}

}  // namespace torchport::infer
