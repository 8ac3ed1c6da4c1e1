#include "scaffold/target.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "releases/cuda.h"
#include "releases/gpu_arch.h"
#include "releases/published.h"
#include "releases/table.h"
#include "scaffold/choose_torch.h"
#include "scaffold/images.h"
#include "versions/version.h"

namespace torchport::scaffold {

namespace {

using base::ErrorCode;

constexpr std::array<std::string_view, 4> kDeviceNames{"cpu", "cuda", "rocm", "xpu"};  // by Device

template <class... Arguments>
tl::unexpected<base::Error> ask(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return base::fail(ErrorCode::kUsage, fmt::format(text, std::forward<Arguments>(arguments)...));
}

// The release's build for the device; empty if it has none or none is known.
std::string variant_of(Device device, const releases::TorchRelease& release) {
  switch (device) {
    case Device::kCpu:
      return "cpu";
    case Device::kCuda:
      return releases::variant_of_cuda(release.cuda.front().cuda);
    case Device::kRocm:
      return release.rocm ? "rocm" + release.rocm->version : std::string();
    case Device::kXpu:
      return release.xpu.value_or(false) ? "xpu" : std::string();
  }
  return {};
}

// A build for the device, for a message: that of this torch, or else the newest known one.
std::string example_variant(Device device, const std::string& torch) {
  const releases::TorchRelease* of_torch = releases::release_of(torch);
  std::string variant = of_torch == nullptr ? std::string() : variant_of(device, *of_torch);
  for (const releases::TorchRelease& release : releases::table().releases)
    if (variant.empty()) variant = variant_of(device, release);
  return variant;
}

// The releases of Python, oldest first, in the order in which they are tried: other packages most
// probably have wheels for the one in the middle.
std::vector<std::string> from_the_middle(const std::vector<std::string>& pythons) {
  std::vector<std::string> order;
  const int middle = (static_cast<int>(pythons.size()) - 1) / 2;
  for (int distance = 0; order.size() < pythons.size(); ++distance)
    for (const int index : {middle - distance, middle + distance})
      if (index >= 0 && index < static_cast<int>(pythons.size()) && (distance > 0 || order.empty()))
        order.push_back(pythons[static_cast<std::size_t>(index)]);
  return order;
}

// Names a torch of the table and a Python that it has wheels for and the project allows:
// ", e.g. --torch 2.8.0 --python 3.9"; empty if there is none.
std::string allowed_pair(const Project& project) {
  for (const releases::TorchRelease& release : releases::table().releases)
    for (const std::string& python : from_the_middle(release.pythons))
      if (allows_python(project, python))
        return fmt::format(", e.g. --torch {} --python {}", release.version, python);
  return {};
}

base::Result<std::string> choose_variant(const Project& project, const TargetOptions& options,
                                         const std::string& torch) {
  const Device device = options.device;
  if (!options.variant.empty()) {
    if (fits(device, options.variant)) return options.variant;
    return ask("--variant {} is not a build for {}: give one like {}", options.variant,
               to_text(device), example_variant(device, torch));
  }
  if (device == Device::kCpu) return std::string("cpu");
  if (const Requirement* stated = project.of("torch"); stated != nullptr && options.torch.empty()) {
    std::string local = versions::local_of(versions::pinned(stated->specifier));
    if (fits(device, local)) return local;
  }
  const releases::TorchRelease* release = releases::release_of(torch);
  if (release != nullptr)
    if (std::string variant = variant_of(device, *release); !variant.empty()) return variant;
  return ask(
      "the builds of torch {} for {} are not known: name one with --variant "
      "(https://download.pytorch.org/whl/torch lists them), or name another torch with --torch",
      torch, to_text(device));
}

base::Result<std::string> choose_python(const Project& project, const TargetOptions& options,
                                        const Target& target) {
  const std::string& torch = target.torch;
  const std::string& wanted = options.python.empty() ? project.python_pin : options.python;
  const releases::TorchRelease* release = releases::release_of(torch);
  const std::vector<std::string> known =
      release == nullptr ? std::vector<std::string>() : release->pythons;
  if (!wanted.empty()) {
    const bool there = std::find(known.begin(), known.end(), wanted) != known.end();
    if (known.empty() || there) return wanted;
    return ask("torch {} has no wheels for Python {}{}; it has them for {}", torch, wanted,
               options.python.empty() ? " (.python-version)" : "", fmt::join(known, ", "));
  }
  if (known.empty()) {
    // A torch that is not in the table is mostly older than those that are.
    const auto& all = releases::table().releases;
    const auto& nearest = versions::older(all.front().version, torch) ? all.front() : all.back();
    return ask(
        "the Python releases that torch {} has wheels for are not known: name one with --python, "
        "e.g. --python {}, or name a newer torch, e.g. --torch {}",
        torch, from_the_middle(nearest.pythons).front(), releases::newest_torch());
  }
  // HIP's compiler decides the image, and the image the Python.
  if (options.device == Device::kRocm && project.cuda)
    if (const auto* rocm = releases::rocm_release(releases::rocm_of_variant(target.variant));
        rocm != nullptr && std::find(known.begin(), known.end(), rocm->python) != known.end() &&
        allows_python(project, rocm->python))
      return rocm->python;
  for (const std::string& python : from_the_middle(known))
    if (allows_python(project, python)) return python;
  return ask("the project asks for Python {}, but torch {} has wheels for {} only: name both{}",
             project.python, torch, fmt::join(known, ", "), allowed_pair(project));
}

// The user's architectures, in the form that every reader of the variable accepts.
base::Result<std::string> stated_archs(const TargetOptions& options, const Target& target) {
  if (options.device == Device::kCuda) {
    const std::string cuda = releases::cuda_of_variant(target.variant);
    const auto list = releases::parse_arch_list(options.arch_list, releases::NvccArchs(cuda, {}));
    if (!list) return tl::unexpected<base::Error>(list.error());
    if (list->asks_for_gpu || list->archs.empty())
      return ask(
          "--arch-list {} asks for the GPU of the machine that builds: name the GPUs of the "
          "machines that will run it, e.g. \"8.0;9.0+PTX\"",
          options.arch_list);
    return releases::to_text(list->archs);
  }
  std::string archs = options.arch_list;
  std::replace(archs.begin(), archs.end(), ',', ';');
  for (const std::string_view arch : base::split(archs, ';'))
    if (!arch.starts_with("gfx") ||
        arch.find_first_not_of("0123456789abcdef", 3) != std::string_view::npos || arch.size() < 6)
      return ask("--arch-list {}: \"{}\" is not an architecture of AMD's GPUs, such as gfx90a",
                 options.arch_list, arch);
  return archs;
}

base::Result<std::string> choose_archs(const Project& project, const TargetOptions& options,
                                       const Target& target) {
  const bool gpu = options.device == Device::kCuda || options.device == Device::kRocm;
  if (!gpu || !project.cuda) return std::string();
  if (!options.arch_list.empty()) return stated_archs(options, target);
  if (options.device == Device::kRocm) {
    const releases::TorchRelease* release = releases::release_of(target.torch);
    if (release != nullptr && release->rocm && !release->rocm->archs.empty() &&
        "rocm" + release->rocm->version == target.variant)
      return fmt::format("{}", fmt::join(release->rocm->archs, ";"));
  }
  // The architectures of torch itself, so that the extension runs where torch does. PTX of the
  // newest one serves later GPUs.
  for (const releases::CudaBuild& build : releases::builds_of(target.torch)) {
    if (releases::variant_of_cuda(build.cuda) != target.variant) continue;
    std::vector<std::string> archs;
    archs.reserve(build.archs.size());
    for (const int arch : build.archs) archs.push_back(fmt::format("{}.{}", arch / 10, arch % 10));
    return fmt::format("{}+PTX", fmt::join(archs, ";"));
  }
  return ask(
      "{}:{} builds CUDA code, but the GPUs that torch {}+{} is built for are not known: name GPUs "
      "with --arch-list, e.g. --arch-list {}",
      project.cuda->file, project.cuda->line, target.torch, target.variant,
      options.device == Device::kCuda ? "\"8.0;9.0+PTX\"" : "\"gfx90a;gfx942\"");
}

// The packages of torch's family that a project pins, without the local version: the index
// determines the build.
std::vector<std::string> family_of(const Project& project, const Target& target) {
  std::vector<std::string> family{fmt::format("torch=={}", target.torch)};
  for (const char* name : {"torchvision", "torchaudio"}) {
    const Requirement* stated = project.of(name);
    if (stated == nullptr) continue;
    const Requirement* torch = project.of("torch");
    const std::string pin = versions::without_local(versions::pinned(stated->specifier));
    // A pin only fits the torch that is pinned beside it. For another torch, pip finds the matching
    // version.
    const bool same = torch != nullptr &&
                      versions::without_local(versions::pinned(torch->specifier)) == target.torch;
    family.push_back(same && !pin.empty() ? fmt::format("{}=={}", name, pin) : std::string(name));
  }
  return family;
}

void add_notes(const Project& project, const TargetOptions& options, Target& target) {
  const bool gpu = options.device == Device::kCuda || options.device == Device::kRocm;
  if (project.cuda && !gpu)
    target.notes.push_back(fmt::format(
        "{}:{} builds CUDA code, which a build for {} must leave out when FORCE_CUDA=0 is set; "
        "torchport check {} says whether it does",
        project.cuda->file, project.cuda->line, to_text(options.device), project.cuda->file));
  const std::string driver = releases::least_driver(releases::cuda_of_variant(target.variant));
  if (!driver.empty())
    target.notes.push_back(fmt::format("hosts need NVIDIA's driver {} or newer", driver));
}

}  // namespace

std::string_view to_text(Device device) {
  return kDeviceNames.at(static_cast<std::size_t>(device));
}

std::optional<Device> parse_device(std::string_view text) {
  const auto* const found = std::find(kDeviceNames.begin(), kDeviceNames.end(), text);
  if (found == kDeviceNames.end()) return std::nullopt;
  return static_cast<Device>(found - kDeviceNames.begin());
}

std::vector<std::string> device_names() {
  return {kDeviceNames.begin(), kDeviceNames.end()};
}

base::Result<Target> choose_target(const Project& project, const TargetOptions& options) {
  Target target;
  target.device = options.device;
  const auto into = [](std::string& member,
                       base::Result<std::string> chosen) -> base::Result<void> {
    if (!chosen) return tl::unexpected<base::Error>(chosen.error());
    member = std::move(*chosen);
    return {};
  };
  auto done = into(target.torch, choose_torch(project, options, target));
  if (done) done = into(target.variant, choose_variant(project, options, target.torch));
  if (done) done = into(target.python, choose_python(project, options, target));
  if (done) done = into(target.arch_list, choose_archs(project, options, target));
  if (!done) return tl::unexpected<base::Error>(done.error());
  auto images = choose_images(project, target);
  if (!images) return tl::unexpected<base::Error>(images.error());
  target.images = std::move(*images);
  target.family = family_of(project, target);
  add_notes(project, options, target);
  return target;
}

}  // namespace torchport::scaffold
