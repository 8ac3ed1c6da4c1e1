// Finds the causes for AMD's GPUs (ROCm).
#include <algorithm>

#include <fmt/format.h>

#include "devices/device_kind.h"
#include "host/causes/cause.h"

namespace torchport::host {

namespace {

bool has_module(const Facts& facts, std::string_view name) {
  return std::find(facts.modules.begin(), facts.modules.end(), name) != facts.modules.end();
}

const DeviceNode* node(const Facts& facts, std::string_view path) {
  const auto found = std::find_if(facts.nodes.begin(), facts.nodes.end(),
                                  [&](const DeviceNode& each) { return each.path == path; });
  return found == facts.nodes.end() ? nullptr : &*found;
}

bool uses_rocm(const Facts& facts) {
  return !facts.of("amd").empty() && facts.torch() != nullptr && !facts.torch()->hip.empty();
}

std::optional<Diagnosis> no_driver(const Facts& facts) {
  if (!uses_rocm(facts) || facts.wsl) return std::nullopt;
  const DeviceNode* kfd = node(facts, "/dev/kfd");
  if (kfd == nullptr && !facts.container.empty())
    return Diagnosis{
        "container-without-gpu",
        fmt::format("this {} container was started without /dev/kfd", facts.container),
        "start it with --device /dev/kfd --device /dev/dri --group-add video --group-add render",
        kContainer};
  if (kfd == nullptr && !has_module(facts, "amdgpu"))
    return Diagnosis{"no-driver", "the kernel module amdgpu is not loaded",
                     "run modprobe amdgpu to see why; amdgpu-install --usecase=rocm installs it",
                     kKernel};
  if (kfd == nullptr)
    return Diagnosis{"no-device-nodes",
                     "amdgpu is loaded, but /dev/kfd does not exist: ROCm does not support this "
                     "card, or the module is too old for it",
                     "install ROCm's own module: amdgpu-install --usecase=rocm", kKernel};
  if (!kfd->readable)
    return Diagnosis{"no-permission", "this user may not open /dev/kfd",
                     fmt::format("usermod -aG {},video $USER, and log in again",
                                 kfd->group.empty() ? "render" : kfd->group),
                     kPermission};
  return std::nullopt;
}

std::optional<Diagnosis> hidden(const Facts& facts) {
  if (!uses_rocm(facts)) return std::nullopt;
  const devices::DeviceKind& kind = *devices::find_kind("cuda");
  std::vector<std::string_view> variables = kind.rocm_visibility_variables;
  variables.push_back(kind.visibility_variable);
  for (const std::string_view name : variables) {
    const auto value = facts.variable(std::string(name));
    if (value && (value->empty() || value->starts_with('-')))
      return Diagnosis{"hidden", fmt::format("{}=\"{}\" hides every GPU", name, *value),
                       fmt::format("unset {}", name), kEnvironment};
  }
  return std::nullopt;
}

std::optional<Diagnosis> arch_missing(const Facts& facts) {
  if (!uses_rocm(facts) || facts.torch()->archs.empty()) return std::nullopt;
  const auto& archs = facts.torch()->archs;
  for (const Gpu* gpu : facts.of("amd")) {
    if (gpu->capability.empty() ||
        std::find(archs.begin(), archs.end(), gpu->capability) != archs.end())
      continue;
    if (facts.variable("HSA_OVERRIDE_GFX_VERSION")) continue;
    return Diagnosis{"arch-not-built",
                     fmt::format("torch {} has no kernels for {} ({})", facts.torch()->version,
                                 gpu->name, gpu->capability),
                     "HSA_OVERRIDE_GFX_VERSION (10.3.0, 11.0.0) makes it run the kernels of a card "
                     "of the same generation; AMD does not support this",
                     kBuild};
  }
  return std::nullopt;
}

const CauseRegistration kNoDriver(&no_driver);
const CauseRegistration kHidden(&hidden);
const CauseRegistration kArch(&arch_missing);

}  // namespace

}  // namespace torchport::host
