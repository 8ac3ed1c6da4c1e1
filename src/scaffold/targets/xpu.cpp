// Describes containers that compute on Intel's GPUs.
#include "scaffold/device_target.h"
#include "scaffold/images.h"

namespace torchport::scaffold::xpu {

namespace {

std::string variant_of(const releases::TorchRelease* release) {
  return release != nullptr && release->xpu.value_or(false) ? "xpu" : std::string();
}

bool takes(std::string_view variant) {
  return variant == "xpu";
}

bool has_build(const releases::TorchRelease& release, const Project& /*project*/,
               const TargetOptions& /*options*/) {
  return !variant_of(&release).empty();
}

base::Result<Images> images(const Project& project, const Target& target) {
  // Debian 13 has the Level Zero driver.
  Images images = images_on_debian(project, target, "trixie");
  images.runtime_packages = {"libze1", "libze-intel-gpu1"};
  return images;
}

const DeviceTargetRegistration kRegistered{{
    .name = "xpu",
    .order = 40,
    .variant_of = &variant_of,
    .takes = &takes,
    .has_build = &has_build,
    .images = &images,
    .platform = "linux/amd64",
    .device_nodes = {"/dev/dri"},
}};

}  // namespace

}  // namespace torchport::scaffold::xpu
