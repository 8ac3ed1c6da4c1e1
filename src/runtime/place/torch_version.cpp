// Finds which torch this process has.
#include <filesystem>
#include <string>

#include <c10/core/Device.h>
#include <dlfcn.h>
#include <torch/version.h>
#include <torchport/device.h>

#include "base/file_system.h"

namespace torchport {

namespace {

// The version in torch/version.py; empty if `text` has none.
std::string version_in(const std::string& text) {
  constexpr std::string_view kStart = "__version__ = '";
  const auto start = text.find(kStart);
  if (start == std::string::npos) return {};
  const auto end = text.find('\'', start + kStart.size());
  if (end == std::string::npos) return {};
  return text.substr(start + kStart.size(), end - start - kStart.size());
}

std::string read_version() {
  Dl_info place{};
  if (dladdr(reinterpret_cast<const void*>(&c10::isValidDeviceType), &place) != 0) {
    std::error_code error;
    const auto library = std::filesystem::canonical(place.dli_fname, error);
    const auto file = library.parent_path().parent_path() / "version.py";
    if (const auto text = base::real_file_system().read(file.string()))
      if (std::string version = version_in(*text); !version.empty()) return version;
  }
  return TORCH_VERSION;
}

}  // namespace

const std::string& torch_version() {
  static const std::string kVersion = read_version();
  return kVersion;
}

}  // namespace torchport
