// Describes containers that compute on the CPU.
#include "scaffold/device_target.h"
#include "scaffold/images.h"

namespace torchport::scaffold::cpu {

namespace {

// Each release has this build, also one that the table does not have.
std::string variant_of(const releases::TorchRelease* /*release*/) {
  return "cpu";
}

bool takes(std::string_view variant) {
  return variant == "cpu";
}

bool has_build(const releases::TorchRelease& /*release*/, const Project& /*project*/,
               const TargetOptions& /*options*/) {
  return true;
}

base::Result<Images> images(const Project& project, const Target& target) {
  return images_on_debian(project, target);
}

const DeviceTargetRegistration kRegistered{{
    .name = "cpu",
    .order = 10,
    .variant_of = &variant_of,
    .takes = &takes,
    .has_build = &has_build,
    .images = &images,
}};

}  // namespace

}  // namespace torchport::scaffold::cpu
