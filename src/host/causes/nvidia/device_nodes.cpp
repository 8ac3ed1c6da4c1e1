// Finds device nodes that are missing or that the user may not open.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> no_permission(const Facts& facts) {
  for (const DeviceNode& node : facts.nodes) {
    if (!node.path.starts_with("/dev/nvidia") || node.readable) continue;
    // Only administrators control MIG.
    if (node.path.find("caps") != std::string::npos) continue;
    return Diagnosis{
        "no-permission", fmt::format("this user may not open {}", node.path),
        node.group.empty() || node.group == "root"
            ? fmt::format("chmod a+rw {}, or set NVreg_DeviceFileMode=0666 for the module",
                          node.path)
            : fmt::format("usermod -aG {} $USER, and log in again", node.group),
        kPermission};
  }
  return std::nullopt;
}

std::optional<Diagnosis> no_nodes(const Facts& facts) {
  if (facts.nvidia.module.empty() || facts.wsl || in_container(facts)) return std::nullopt;
  if (find_node(facts, "/dev/nvidia") != nullptr) return std::nullopt;
  return Diagnosis{
      "no-device-nodes", "the kernel module is loaded, but /dev/nvidia0 does not exist",
      "nvidia-modprobe -u -c=0 creates the device nodes; nvidia-persistenced keeps them",
      kPermission};
}

const CauseRegistration kNoPermission(&no_permission);
const CauseRegistration kNoNodes(&no_nodes);

}  // namespace

}  // namespace torchport::host
