// Finds device nodes that are missing or that the user may not open.
#include <algorithm>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/container.h"
#include "host/causes/nvidia/unserved_card.h"
#include "host/causes/queries.h"

namespace torchport::host::nvidia {

namespace {

// The first node that the user may not open. Only administrators control MIG.
const DeviceNode* closed_node(const Facts& facts) {
  for (const DeviceNode& node : facts.nodes)
    if (node.path.starts_with("/dev/nvidia") && !node.readable &&
        node.path.find("caps") == std::string::npos)
      return &node;
  return nullptr;
}

// A container whose control group lost the devices: NVML then says "Unknown Error".
bool refused_by_group(const Facts& facts, const DeviceNode& node) {
  return node.denied || (in_container(facts) && facts.nvidia.nvml == "Unknown Error");
}

// What keeps the host's systemd from taking devices away from containers of NVIDIA's runtime.
std::string kept_by_host(const Facts& facts) {
  const Runtime runtime = runtime_of(facts.container);
  const bool of_toolkit = runtime == Runtime::kDocker || runtime == Runtime::kPodman ||
                          runtime == Runtime::kNerdctl || runtime == Runtime::kKubernetes;
  return of_toolkit ? "; the host's nvidia-ctk system create-dev-char-symlinks keeps systemd from "
                      "taking devices away"
                    : "";
}

std::optional<Diagnosis> denied(const Facts& facts) {
  const DeviceNode* node = closed_node(facts);
  if (node == nullptr || !refused_by_group(facts, *node) || in_job_without_gpu(facts))
    return std::nullopt;
  if (in_container(facts))
    return Diagnosis{
        "denied-by-control-group",
        fmt::format("this {} container has {}, but its control group refuses it: it was started "
                    "without this device, or the host's systemd took it away (daemon-reload)",
                    facts.container, node->path),
        pass_nvidia(facts, {node->path}) + kept_by_host(facts), kContainer};
  return Diagnosis{
      "denied-by-control-group",
      fmt::format("the control group of this session or service refuses {}", node->path),
      "ask the scheduler for a GPU (Slurm: --gres=gpu:1), or name the device in the "
      "service's DeviceAllow=",
      kPermission};
}

std::optional<Diagnosis> no_permission(const Facts& facts) {
  const DeviceNode* node = closed_node(facts);
  if (node == nullptr || refused_by_group(facts, *node) || in_job_without_gpu(facts))
    return std::nullopt;
  return Diagnosis{
      "no-permission", fmt::format("this user may not open {}", node->path),
      node->group.empty() || node->group == "root"
          ? fmt::format("chmod a+rw {}, or set NVreg_DeviceFileMode=0666 for the module",
                        node->path)
          : allow_node(facts, *node, "nvidia"),
      kPermission};
}

std::optional<Diagnosis> no_nodes(const Facts& facts) {
  if (facts.nvidia.module.empty() || facts.wsl || in_container(facts) || is_jetson(facts))
    return std::nullopt;
  if (has_card_node(facts) || in_job_without_gpu(facts)) return std::nullopt;
  const auto cards = facts.of("nvidia");
  if (!cards.empty() && std::all_of(cards.begin(), cards.end(),
                                    [&](const Gpu* gpu) { return is_dropped(facts, *gpu); }))
    return std::nullopt;
  return Diagnosis{
      "no-device-nodes", "the kernel module is loaded, but /dev/nvidia0 does not exist",
      "nvidia-modprobe -u -c=0 creates the device nodes; nvidia-persistenced keeps them",
      kPermission};
}

// The driver's own nodes, beside those of the cards. A Jetson has neither.
std::optional<Diagnosis> no_driver_node(const Facts& facts) {
  if (facts.nvidia.module.empty() || facts.wsl || is_jetson(facts)) return std::nullopt;
  if (!has_card_node(facts) || facts.nvidia.library.empty()) return std::nullopt;
  // Before a program of this user could open a card, or where CUDA creates them, none is missing.
  const DeviceNode* closed = closed_node(facts);
  if (closed != nullptr && is_card_node(*closed)) return std::nullopt;
  if (facts.nvidia.makes_nodes && !in_container(facts)) return std::nullopt;
  const bool control = find_node(facts, "/dev/nvidiactl") != nullptr;
  if (control && find_node(facts, "/dev/nvidia-uvm") != nullptr) return std::nullopt;
  const std::string path = control ? "/dev/nvidia-uvm" : "/dev/nvidiactl";
  if (in_container(facts))
    return Diagnosis{
        "no-driver-node",
        fmt::format("this {} container has a card's node, but not {}, which CUDA opens first",
                    facts.container, path),
        fmt::format("{}; if the host lacks {}, too, run nvidia-modprobe -u -c=0 there",
                    pass_nvidia(facts, {path}), path),
        kContainer};
  return Diagnosis{
      "no-driver-node",
      control ? "/dev/nvidia-uvm does not exist, so CUDA cannot start, even if nvidia-smi works"
              : "/dev/nvidiactl does not exist, so no program can talk to the driver",
      control ? "nvidia-modprobe -u -c=0 loads the module nvidia-uvm and creates its node; so does "
                "modprobe nvidia-uvm with udev"
              : "nvidia-modprobe creates it; nvidia-persistenced keeps it",
      kKernel};
}

const CauseRegistration kDenied(&denied);
const CauseRegistration kNoDriverNode(&no_driver_node);
const CauseRegistration kNoPermission(&no_permission);
const CauseRegistration kNoNodes(&no_nodes);

}  // namespace

}  // namespace torchport::host::nvidia
