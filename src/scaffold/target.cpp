#include "scaffold/target.h"

#include <algorithm>

#include <fmt/format.h>

#include "releases/table.h"
#include "scaffold/choose_torch.h"
#include "scaffold/device_target.h"
#include "versions/version.h"

namespace torchport::scaffold {

namespace {

using base::ErrorCode;

template <class... Arguments>
tl::unexpected<base::Error> ask(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return base::fail(ErrorCode::kUsage, fmt::format(text, std::forward<Arguments>(arguments)...));
}

// A build for the device, for a message: that of this torch, or else the newest known one.
std::string example_variant(const DeviceTarget& device, const std::string& torch) {
  std::string variant = device.variant_of(releases::release_of(torch));
  for (const releases::TorchRelease& release : releases::table().releases)
    if (variant.empty()) variant = device.variant_of(&release);
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
                                         const Target& target) {
  const DeviceTarget& device = *target.device;
  const std::string& torch = target.torch;
  if (!options.variant.empty()) {
    if (device.takes(options.variant)) return options.variant;
    return ask("--variant {} is not a build for {}: give one like {}", options.variant, device.name,
               example_variant(device, torch));
  }
  if (const Requirement* stated = project.of("torch"); stated != nullptr && options.torch.empty()) {
    std::string local = versions::local_of(versions::pinned(stated->specifier));
    if (device.takes(local)) return local;
  }
  if (std::string variant = device.variant_of(releases::release_of(torch)); !variant.empty())
    return variant;
  return ask(
      "the builds of torch {} for {} are not known: name one with --variant "
      "(https://download.pytorch.org/whl/torch lists them), or name another torch with --torch",
      torch, device.name);
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
  if (target.device->python_of_images != nullptr)
    if (std::string python = target.device->python_of_images(project, target.variant);
        std::find(known.begin(), known.end(), python) != known.end() &&
        allows_python(project, python))
      return python;
  for (const std::string& python : from_the_middle(known))
    if (allows_python(project, python)) return python;
  return ask("the project asks for Python {}, but torch {} has wheels for {} only: name both{}",
             project.python, torch, fmt::join(known, ", "), allowed_pair(project));
}

base::Result<std::string> choose_archs(const Project& project, const TargetOptions& options,
                                       const Target& target) {
  const std::optional<GpuCode>& code = target.device->gpu_code;
  if (!code || !project.cuda) return std::string();
  if (!options.arch_list.empty()) return code->stated_archs(options.arch_list, target.variant);
  // The extension then runs where torch does.
  if (std::string archs = code->archs_of_torch(target); !archs.empty()) return archs;
  return ask(
      "{}:{} builds CUDA code, but the GPUs that torch {}+{} is built for are not known: name GPUs "
      "with --arch-list, e.g. --arch-list {}",
      project.cuda->file, project.cuda->line, target.torch, target.variant, code->example);
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

void add_notes(const Project& project, Target& target) {
  const DeviceTarget& device = *target.device;
  if (project.cuda && !device.gpu_code)
    target.notes.push_back(fmt::format(
        "{}:{} builds CUDA code, which a build for {} must leave out when FORCE_CUDA=0 is set; "
        "torchport check {} says whether it does",
        project.cuda->file, project.cuda->line, device.name, project.cuda->file));
  if (device.host_note == nullptr) return;
  if (std::string note = device.host_note(target.variant); !note.empty())
    target.notes.push_back(std::move(note));
}

}  // namespace

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const DeviceTarget& target : device_targets()) names.emplace_back(target.name);
  return names;
}

base::Result<Target> choose_target(const Project& project, const TargetOptions& options) {
  Target target;
  target.device = find_device_target(options.device);
  if (target.device == nullptr)
    return ask("there is no target {}: choose one of {}", options.device,
               fmt::join(device_names(), ", "));
  const auto into = [](std::string& member,
                       base::Result<std::string> chosen) -> base::Result<void> {
    if (!chosen) return tl::unexpected<base::Error>(chosen.error());
    member = std::move(*chosen);
    return {};
  };
  auto done = into(target.torch, choose_torch(project, options, target));
  if (done) done = into(target.variant, choose_variant(project, options, target));
  if (done) done = into(target.python, choose_python(project, options, target));
  if (done) done = into(target.arch_list, choose_archs(project, options, target));
  if (!done) return tl::unexpected<base::Error>(done.error());
  auto images = target.device->images(project, target);
  if (!images) return tl::unexpected<base::Error>(images.error());
  target.images = std::move(*images);
  target.family = family_of(project, target);
  add_notes(project, target);
  return target;
}

}  // namespace torchport::scaffold
