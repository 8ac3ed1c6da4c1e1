// Describes containers that compute on NVIDIA's GPUs.
#include "releases/cuda.h"

#include <algorithm>

#include <fmt/format.h>

#include "releases/gpu_arch.h"
#include "releases/published.h"
#include "scaffold/device_target.h"
#include "scaffold/images.h"
#include "scaffold/shell.h"

namespace torchport::scaffold::cuda {

namespace {

constexpr std::string_view kComposeLines = R"(    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: all
              capabilities: [gpu]
)";

std::string variant_of(const releases::TorchRelease* release) {
  return release == nullptr ? std::string() : releases::variant_of_cuda(release->cuda.front().cuda);
}

bool takes(std::string_view variant) {
  return !releases::cuda_of_variant(variant).empty();
}

bool has_build(const releases::TorchRelease& release, const Project& /*project*/,
               const TargetOptions& options) {
  return std::any_of(
      release.cuda.begin(), release.cuda.end(), [&](const releases::CudaBuild& build) {
        return options.variant.empty() || options.variant == releases::variant_of_cuda(build.cuda);
      });
}

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

base::Result<Images> images(const Project& project, const Target& target) {
  Images images = images_on_debian(project, target);
  if (!project.cuda) return images;
  // Only the toolkit's folder is copied from the toolkit's image; it is the same on every
  // distribution.
  const std::string cuda = releases::cuda_of_variant(target.variant);
  images.toolkit = releases::toolkit_image(cuda);
  if (images.toolkit.empty())
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("the project's extension needs the compiler of CUDA {}, but no image with it "
                    "is known: choose another build, e.g. {}",
                    cuda, other_cuda(target.torch)));
  images.toolkit_folder = fmt::format("/usr/local/cuda-{}", cuda);
  return images;
}

std::string host_note(const std::string& variant) {
  const std::string driver = releases::least_driver(releases::cuda_of_variant(variant));
  return driver.empty() ? std::string()
                        : fmt::format("hosts need NVIDIA's driver {} or newer", driver);
}

base::Result<std::string> stated_archs(const std::string& arch_list, const std::string& variant) {
  const std::string cuda = releases::cuda_of_variant(variant);
  const auto list = releases::parse_arch_list(arch_list, releases::NvccArchs(cuda, {}));
  if (!list) return tl::unexpected<base::Error>(list.error());
  if (list->asks_for_gpu || list->archs.empty())
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("--arch-list {} asks for the GPU of the machine that builds: name the GPUs of "
                    "the machines that will run it, e.g. \"8.0;9.0+PTX\"",
                    arch_list));
  return releases::to_text(list->archs);
}

// An extension for these architectures runs where torch does. PTX of the newest one serves later
// GPUs.
std::string archs_of_torch(const Target& target) {
  for (const releases::CudaBuild& build : releases::builds_of(target.torch)) {
    if (releases::variant_of_cuda(build.cuda) != target.variant) continue;
    std::vector<std::string> archs;
    archs.reserve(build.archs.size());
    for (const int arch : build.archs) archs.push_back(fmt::format("{}.{}", arch / 10, arch % 10));
    return fmt::format("{}+PTX", fmt::join(archs, ";"));
  }
  return {};
}

std::string variables(const std::string& arch_list) {
  return "CUDA_HOME=/usr/local/cuda PATH=/usr/local/cuda/bin:$PATH \\\n"
         "    TORCHPORT_BUILD=cuda FORCE_CUDA=1 TORCH_CUDA_ARCH_LIST=" +
         json_string(arch_list);
}

const DeviceTargetRegistration kRegistered{{
    .name = "cuda",
    .order = 20,
    .variant_of = &variant_of,
    .takes = &takes,
    .has_build = &has_build,
    .images = &images,
    .host_note = &host_note,
    .gpu_code = GpuCode{.example = "\"8.0;9.0+PTX\"",
                        .stated_archs = &stated_archs,
                        .archs_of_torch = &archs_of_torch,
                        .variables = &variables},
    .platform = "linux/amd64",
    .variables = "NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    .compose_lines = kComposeLines,
}};

}  // namespace

}  // namespace torchport::scaffold::cuda
