// Finds what is missing between AMD's card and ROCm: the kernel module, its device node, the rights
// on that.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/container.h"
#include "host/causes/queries.h"

namespace torchport::host::amd {

namespace {

// ROCm also opens the card's node for rendering.
std::optional<Diagnosis> no_render_node(const Facts& facts) {
  const DeviceNode* first = nullptr;
  for (const DeviceNode& node : facts.nodes) {
    if (!node.path.starts_with("/dev/dri/render")) continue;
    if (node.readable) return std::nullopt;
    if (first == nullptr) first = &node;
  }
  if (first != nullptr)
    return Diagnosis{"no-permission", fmt::format("this user may not open {}", first->path),
                     allow_node(facts, *first, "amd"), kPermission};
  if (!in_container(facts)) return std::nullopt;
  return Diagnosis{
      "container-without-gpu",
      fmt::format("this {} container has /dev/kfd, but no /dev/dri/renderD*", facts.container),
      pass_nodes(facts, "amd"), kContainer};
}

std::optional<Diagnosis> no_driver(const Facts& facts) {
  if (!uses_rocm(facts) || facts.wsl) return std::nullopt;
  const DeviceNode* kfd = find_node(facts, "/dev/kfd");
  if (kfd == nullptr && in_container(facts))
    return Diagnosis{"container-without-gpu",
                     fmt::format("this {} container was started without /dev/kfd", facts.container),
                     pass_nodes(facts, "amd"), kContainer};
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
                     allow_node(facts, *kfd, "amd"), kPermission};
  return no_render_node(facts);
}

const CauseRegistration kNoDriver(&no_driver);

}  // namespace

}  // namespace torchport::host::amd
