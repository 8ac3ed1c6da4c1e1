// Finds which torch this process has.
#include <filesystem>
#include <string>

#include <c10/core/Device.h>
#include <dlfcn.h>
#include <torch/version.h>
#include <torchport/device.h>

#include "base/file_system.h"
#include "host/probe/probe.h"

namespace torchport {

namespace {

std::string read_version() {
  Dl_info place{};
  if (dladdr(reinterpret_cast<const void*>(&c10::isValidDeviceType), &place) != 0) {
    std::error_code error;
    const auto library = std::filesystem::canonical(place.dli_fname, error);
    const auto file = library.parent_path().parent_path() / "version.py";
    if (const auto text = base::real_file_system().read(file.string()))
      if (std::string version = host::version_member(*text, "__version__"); !version.empty())
        return version;
  }
  return TORCH_VERSION;
}

}  // namespace

const std::string& torch_version() {
  static const std::string kVersion = read_version();
  return kVersion;
}

}  // namespace torchport
