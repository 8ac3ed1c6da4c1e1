#include "scaffold/images.h"

#include <fmt/format.h>

#include "releases/cuda.h"
#include "releases/published.h"
#include "releases/table.h"

namespace torchport::scaffold {

namespace {

// Debian 12 has GCC 12, which every nvcc since 12.0 accepts. Debian 13 has the Level Zero driver.
constexpr std::string_view kDebian = "bookworm";
constexpr std::string_view kDebianOfIntel = "trixie";

// The variant of a build for CUDA whose toolkit is in an image; empty if the release has none.
std::string variant_with_toolkit(const std::vector<releases::CudaBuild>& builds) {
  for (const releases::CudaBuild& build : builds)
    if (!releases::toolkit_image(build.cuda).empty()) return releases::variant_of_cuda(build.cuda);
  return {};
}

// Options for such a build, of this torch if it has one: "--variant cu126".
std::string other_cuda(const std::string& torch) {
  if (const auto variant = variant_with_toolkit(releases::builds_of(torch)); !variant.empty())
    return "--variant " + variant;
  for (const releases::TorchRelease& release : releases::table().releases)
    if (const auto variant = variant_with_toolkit(release.cuda); !variant.empty())
      return fmt::format("--torch {} --variant {}", release.version, variant);
  return "--device cpu";
}

// Only the toolkit's folder is copied from the toolkit's image; it is the same on every
// distribution.
base::Result<void> add_toolkit(const Target& target, Images& images) {
  const std::string cuda = releases::cuda_of_variant(target.variant);
  images.toolkit = releases::toolkit_image(cuda);
  if (images.toolkit.empty())
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("the project's extension needs the compiler of CUDA {}, but no image with it "
                    "is known: choose another build, e.g. {}",
                    cuda, other_cuda(target.torch)));
  images.toolkit_folder = fmt::format("/usr/local/cuda-{}", cuda);
  return {};
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
base::Result<Images> for_hip(const Target& target) {
  const std::string rocm = releases::rocm_of_variant(target.variant);
  const releases::RocmRelease* release = releases::rocm_release(rocm);
  if (release == nullptr)
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("the project's extension needs the compiler of ROCm {}, but no image with it "
                    "is known: choose another build, e.g. {}",
                    rocm, other_rocm()));
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

}  // namespace

base::Result<Images> choose_images(const Project& project, const Target& target) {
  if (target.device == Device::kRocm && project.cuda) return for_hip(target);
  Images images;
  const auto debian = target.device == Device::kXpu ? kDebianOfIntel : kDebian;
  images.runtime = fmt::format("python:{}-slim-{}", target.python, debian);
  // Only the complete image has the compilers; a pure Python project needs none.
  images.build =
      project.extension ? fmt::format("python:{}-{}", target.python, debian) : images.runtime;
  if (target.device == Device::kXpu) images.runtime_packages = {"libze1", "libze-intel-gpu1"};
  if (target.device == Device::kCuda && project.cuda)
    if (auto done = add_toolkit(target, images); !done)
      return tl::unexpected<base::Error>(done.error());
  return images;
}

}  // namespace torchport::scaffold
