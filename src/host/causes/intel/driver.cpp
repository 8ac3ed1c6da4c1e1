// Finds what is missing between Intel's card and torch: the kernel module, the rights on the device
// node, Level Zero and its driver.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/container.h"
#include "host/causes/intel/packages.h"
#include "host/causes/queries.h"

namespace torchport::host::intel {

namespace {

bool has_render_node(const Facts& facts) {
  return find_node(facts, "/dev/dri/render") != nullptr;
}

std::optional<Diagnosis> no_kernel_driver(const Facts& facts) {
  if (facts.wsl || in_container(facts)) return std::nullopt;
  const bool module = has_module(facts, "xe") || has_module(facts, "i915");
  if (!module)
    return Diagnosis{"no-driver", "neither of Intel's kernel modules (xe, i915) is loaded",
                     "use a kernel that supports the card (6.12 or newer for Arc B): uname -r says "
                     "which one runs",
                     kKernel};
  if (!has_render_node(facts))
    return Diagnosis{
        "no-render-node",
        fmt::format("no kernel driver serves the card {} at {}: there is no /dev/dri/renderD*",
                    facts.of("intel").front()->id, facts.of("intel").front()->bus),
        "use a kernel that supports the card (6.12 or newer for Arc B): uname -r says which one "
        "runs",
        kKernel};
  return std::nullopt;
}

std::optional<Diagnosis> closed_node(const Facts& facts) {
  if (facts.wsl) return std::nullopt;
  if (in_container(facts) && !has_render_node(facts))
    return Diagnosis{
        "container-without-gpu",
        fmt::format("this {} container was started without /dev/dri/renderD*", facts.container),
        pass_nodes(facts, "intel"), kContainer};
  for (const DeviceNode& node : facts.nodes)
    if (node.path.starts_with("/dev/dri/render") && !node.readable)
      return Diagnosis{"no-permission", fmt::format("this user may not open {}", node.path),
                       allow_node(facts, node, "intel"), kPermission};
  return std::nullopt;
}

// Windows' driver serves the card in WSL, and Intel's compute runtime for Linux finds it by
// /dev/dxg.
constexpr std::string_view kInWsl =
    "install Intel's driver in Windows, and Intel's compute runtime in WSL (not a kernel module): "
    "apt install libze1 libze-intel-gpu1 intel-opencl-icd (from Intel's own repository the second "
    "is intel-level-zero-gpu: https://dgpu-docs.intel.com/driver/client/overview.html); then run "
    "wsl --shutdown in Windows";

std::optional<Diagnosis> no_level_zero(const Facts& facts) {
  const bool of_wsl = facts.wsl && !in_container(facts);
  if (facts.level_zero.empty())
    return Diagnosis{"no-level-zero", "Intel's Level Zero loader (libze_loader.so.1) was not found",
                     of_wsl ? std::string(kInWsl) : install_level_zero(facts), kUserDriver};
  if (!facts.level_zero_state.empty() && facts.level_zero_state != "ok")
    return Diagnosis{
        "level-zero-fails",
        fmt::format("Intel's Level Zero loader {} finds no driver: {}", facts.level_zero,
                    facts.level_zero_state),
        of_wsl ? std::string(kInWsl)
               : "install the driver of the loader's release: " + install_level_zero(facts),
        kUserDriver};
  return std::nullopt;
}

std::optional<Diagnosis> intel(const Facts& facts) {
  if (facts.of("intel").empty() || !is_built_for_xpu(facts.torch())) return std::nullopt;
  if (auto found = no_kernel_driver(facts)) return found;
  if (auto found = closed_node(facts)) return found;
  return no_level_zero(facts);
}

// No bus shows Intel's card in WSL: only Level Zero tells that it is there.
std::optional<Diagnosis> no_gpu_in_wsl(const Facts& facts) {
  if (!facts.wsl || !facts.gpus.empty() || !is_built_for_xpu(facts.torch())) return std::nullopt;
  if (find_node(facts, "/dev/dxg") == nullptr) return std::nullopt;  // WSL 1, or a container
  if (auto found = no_level_zero(facts)) return found;
  if (facts.level_zero_state == "ok")
    return Diagnosis{"wsl-no-intel-gpu", "Level Zero works in this WSL, but names no GPU of Intel",
                     std::string(kInWsl), kUserDriver};
  return Diagnosis{"gpu-not-asked",
                   fmt::format("Level Zero's loader {} is in this WSL, but whether it finds a GPU "
                               "was not recorded",
                               facts.level_zero),
                   "record the machine again: torchport doctor --json > machine.json", kHardware};
}

const CauseRegistration kWslIntel(&no_gpu_in_wsl);
const CauseRegistration kIntel(&intel);

}  // namespace

}  // namespace torchport::host::intel
