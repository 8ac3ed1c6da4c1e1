// Describes containers that compute on AMD's GPUs.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "releases/published.h"
#include "scaffold/device_target.h"
#include "scaffold/images.h"
#include "scaffold/shell.h"

namespace torchport::scaffold::rocm {

namespace {

// The image with HIP's compiler for this build; null if none is known.
const releases::RocmRelease* compiler_of(std::string_view variant) {
  return releases::rocm_release(releases::rocm_of_variant(variant));
}

std::string variant_of(const releases::TorchRelease* release) {
  return release != nullptr && release->rocm ? "rocm" + release->rocm->version : std::string();
}

bool takes(std::string_view variant) {
  return !releases::rocm_of_variant(variant).empty();
}

bool has_build(const releases::TorchRelease& release, const Project& project,
               const TargetOptions& options) {
  if (!release.rocm) return false;
  // Native code needs the list of architectures.
  if (project.cuda && options.arch_list.empty() && release.rocm->archs.empty()) return false;
  if (!options.variant.empty()) return options.variant == variant_of(&release);
  // It also needs the image with the compiler.
  return !project.cuda || releases::rocm_release(release.rocm->version) != nullptr;
}

// Options for a build whose HIP compiler is in an image: "--torch 2.13.0 --variant rocm7.2".
std::string other_rocm() {
  for (const releases::TorchRelease& release : releases::table().releases)
    if (release.rocm && releases::rocm_release(release.rocm->version) != nullptr)
      return fmt::format("--torch {} --variant rocm{}", release.version, release.rocm->version);
  return "--device cuda";
}

// HIP's compiler is built for AMD's own image. Both stages use its distribution, so that what one
// compiles runs in the other.
base::Result<Images> images_for_hip(const Target& target) {
  const releases::RocmRelease* release = compiler_of(target.variant);
  if (release == nullptr)
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("the project's extension needs the compiler of ROCm {}, but no image with it "
                    "is known: choose another build, e.g. {}",
                    releases::rocm_of_variant(target.variant), other_rocm()));
  if (target.python != release->python)
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("CUDA code for {} is compiled in {}, whose Python is {}, but the "
                                  "project gets Python {}: give --python {}",
                                  target.variant, release->image, release->python, target.python,
                                  release->python));
  Images images;
  images.build = release->image;
  images.runtime = release->base;
  images.python = "python" + release->python;
  images.build_packages = {"g++", images.python + "-dev", images.python + "-venv"};
  images.runtime_packages = {images.python};
  return images;
}

base::Result<Images> images(const Project& project, const Target& target) {
  if (project.cuda) return images_for_hip(target);
  return images_on_debian(project, target);
}

// HIP's compiler decides the image, and the image the Python.
std::string python_of_images(const Project& project, const std::string& variant) {
  const releases::RocmRelease* release = project.cuda ? compiler_of(variant) : nullptr;
  return release == nullptr ? std::string() : release->python;
}

base::Result<std::string> stated_archs(const std::string& arch_list,
                                       const std::string& /*variant*/) {
  std::string archs = arch_list;
  std::replace(archs.begin(), archs.end(), ',', ';');
  for (const std::string_view arch : base::split(archs, ';'))
    if (!arch.starts_with("gfx") ||
        arch.find_first_not_of("0123456789abcdef", 3) != std::string_view::npos || arch.size() < 6)
      return base::fail(
          base::ErrorCode::kUsage,
          fmt::format("--arch-list {}: \"{}\" is not an architecture of AMD's GPUs, such as gfx90a",
                      arch_list, arch));
  return archs;
}

std::string archs_of_torch(const Target& target) {
  const releases::TorchRelease* release = releases::release_of(target.torch);
  if (release == nullptr || variant_of(release) != target.variant) return {};
  return fmt::format("{}", fmt::join(release->rocm->archs, ";"));
}

std::string variables(const std::string& arch_list) {
  return "ROCM_HOME=/opt/rocm FORCE_CUDA=1 PYTORCH_ROCM_ARCH=" + json_string(arch_list);
}

const DeviceTargetRegistration kRegistered{{
    .name = "rocm",
    .order = 30,
    .variant_of = &variant_of,
    .takes = &takes,
    .has_build = &has_build,
    .images = &images,
    .python_of_images = &python_of_images,
    .gpu_code = GpuCode{.example = "\"gfx90a;gfx942\"",
                        .stated_archs = &stated_archs,
                        .archs_of_torch = &archs_of_torch,
                        .variables = &variables},
    .platform = "linux/amd64",
    .device_nodes = {"/dev/kfd", "/dev/dri"},
}};

}  // namespace

}  // namespace torchport::scaffold::rocm
