// Says how a container gets the host's GPU. Each runtime has its own way; for one that is not known
// only what it has to pass is said, without a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/facts/facts.h"

namespace torchport::host {

enum class Runtime {
  kDocker,
  kPodman,
  kNerdctl,  // containerd
  kKubernetes,
  kLxc,  // Proxmox, LXD, Incus
  kApptainer,
  kNspawn,
  kOther
};

// The runtime that Facts::container names: "docker", "systemd-nspawn", "lxc-libvirt".
[[nodiscard]] Runtime runtime_of(std::string_view container);

// How this container gets NVIDIA's cards. LXC and systemd-nspawn are given these nodes one by one;
// none: those of the first card.
[[nodiscard]] std::string pass_nvidia(const Facts& facts, const std::vector<std::string>& nodes);

// How this container gets the nodes of AMD's ("amd") or Intel's ("intel") cards, and the right to
// open them.
[[nodiscard]] std::string pass_nodes(const Facts& facts, std::string_view vendor);

// How this user gets the right to open a node that is there; in a container as on a host. `vendor`
// as above, or "nvidia".
[[nodiscard]] std::string allow_node(const Facts& facts, const DeviceNode& node,
                                     std::string_view vendor);

}  // namespace torchport::host
