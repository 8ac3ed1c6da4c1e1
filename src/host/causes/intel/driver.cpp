// Finds what is missing between Intel's card and torch: the kernel module, the rights on the device
// node, Level Zero and its driver.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host::intel {

namespace {

bool has_render_node(const Facts& facts) {
  return find_node(facts, "/dev/dri/render") != nullptr;
}

std::optional<Diagnosis> intel(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (facts.of("intel").empty() || torch == nullptr || torch->version_of("xpu").empty())
    return std::nullopt;
  const bool module = has_module(facts, "xe") || has_module(facts, "i915");
  if (!module && !facts.wsl && !in_container(facts))
    return Diagnosis{"no-driver", "neither of Intel's kernel modules (xe, i915) is loaded",
                     "use a kernel that supports the card (6.12 or newer for Arc B), and install "
                     "intel-opencl-icd",
                     kKernel};
  if (module && !facts.wsl && !in_container(facts) && !has_render_node(facts))
    return Diagnosis{
        "no-render-node",
        fmt::format("no kernel driver serves the card {} at {}: there is no /dev/dri/renderD*",
                    facts.of("intel").front()->id, facts.of("intel").front()->bus),
        "use a kernel that supports the card (6.12 or newer for Arc B): uname -r says which one "
        "runs",
        kKernel};
  for (const DeviceNode& node : facts.nodes)
    if (node.path.starts_with("/dev/dri/render") && !node.readable)
      return Diagnosis{"no-permission", fmt::format("this user may not open {}", node.path),
                       fmt::format("usermod -aG {} $USER, and log in again",
                                   node.group.empty() ? "render" : node.group),
                       kPermission};
  if (facts.level_zero.empty())
    return Diagnosis{"no-level-zero", "Intel's Level Zero loader (libze_loader.so.1) was not found",
                     "install it: apt install libze1 libze-intel-gpu1", kUserDriver};
  if (!facts.level_zero_state.empty() && facts.level_zero_state != "ok")
    return Diagnosis{
        "level-zero-fails",
        fmt::format("Intel's Level Zero loader {} finds no driver: {}", facts.level_zero,
                    facts.level_zero_state),
        "install the driver of the same release as libze1: apt install libze-intel-gpu1",
        kUserDriver};
  return std::nullopt;
}

const CauseRegistration kIntel(&intel);

}  // namespace

}  // namespace torchport::host::intel
