#include "host/causes/container.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "host/causes/queries.h"

namespace torchport::host {

namespace {

struct Spelling {
  std::string_view part;  // of the name
  Runtime runtime;
};

// In this order: "kubernetes" may run on containerd, "lxc" is no part of another name.
constexpr std::array<Spelling, 15> kSpellings{{{"kube", Runtime::kKubernetes},
                                               {"k8s", Runtime::kKubernetes},
                                               {"k3s", Runtime::kKubernetes},
                                               {"podman", Runtime::kPodman},
                                               {"libpod", Runtime::kPodman},
                                               {"docker", Runtime::kDocker},
                                               {"moby", Runtime::kDocker},
                                               {"nerdctl", Runtime::kNerdctl},
                                               {"containerd", Runtime::kNerdctl},
                                               {"apptainer", Runtime::kApptainer},
                                               {"singularity", Runtime::kApptainer},
                                               {"nspawn", Runtime::kNspawn},
                                               {"lxc", Runtime::kLxc},
                                               {"lxd", Runtime::kLxc},
                                               {"incus", Runtime::kLxc}}};

// The program that starts such a container.
std::string program_of(const Facts& facts) {
  switch (runtime_of(facts.container)) {
    case Runtime::kPodman:
      return "podman run";
    case Runtime::kNerdctl:
      return "nerdctl run";
    case Runtime::kApptainer:
      return base::lower(facts.container).find("singularity") == std::string::npos
                 ? "apptainer run"
                 : "singularity run";
    default:
      return "docker run";
  }
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// The group that owns a node, by its number. A name is that of the container, which may be another
// one than the host's; then the host is asked.
std::string number_of_group(const DeviceNode& node) {
  const bool mapped = is_number(node.group) && node.group != "65534" && node.group != "0";
  return mapped ? node.group : fmt::format("$(stat -c %g {})", node.path);
}

// The nodes that programs for cards of this vendor open.
std::vector<DeviceNode> nodes_of(const Facts& facts, std::string_view vendor) {
  std::vector<DeviceNode> nodes;
  const auto add = [&](std::string_view start, const char* by_default) {
    for (const DeviceNode& node : facts.nodes)
      if (node.path.starts_with(start)) nodes.push_back(node);
    if (find_node(facts, start) == nullptr) nodes.push_back({by_default, false, {}});
  };
  if (vendor == "amd") add("/dev/kfd", "/dev/kfd");
  add("/dev/dri/render", "/dev/dri/renderD128");
  return nodes;
}

std::vector<std::string> numbers_of_groups(const std::vector<DeviceNode>& nodes) {
  std::vector<std::string> numbers;
  for (const DeviceNode& node : nodes) {
    std::string number = number_of_group(node);
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
      numbers.push_back(std::move(number));
  }
  return numbers;
}

// "--group-add 992", with a space before each.
std::string group_options(const Facts& facts, const std::vector<DeviceNode>& nodes) {
  std::string options;
  for (const std::string& number : numbers_of_groups(nodes)) options += " --group-add " + number;
  if (runtime_of(facts.container) == Runtime::kPodman)
    options += "; without root: --group-add keep-groups, and the host's user must be in the group";
  return options;
}

// "-dev0 /dev/kfd,gid=GID", with a space before each.
std::string proxmox_options(const std::vector<std::string>& paths, std::string_view more) {
  std::string options;
  for (std::size_t at = 0; at < paths.size(); ++at)
    options += fmt::format(" -dev{} {}{}", at, paths[at], more);
  return options;
}

// LXC has no command of its own that passes a device; its managers have.
std::string lxc_remedy(const std::vector<std::string>& paths, std::string_view more,
                       std::string_view settings) {
  return fmt::format(
      "on the host: pct set ID{} (Proxmox, where devN is a number that the container does not "
      "use), or lxc config device add NAME gpu gpu{} (LXD; Incus: "
      "incus instead of lxc); then start it again",
      proxmox_options(paths, more), settings);
}

std::string nspawn_remedy(const std::vector<std::string>& paths, std::string_view allowed) {
  std::string options;
  for (const std::string& path : paths) options += " --bind=" + path;
  return fmt::format("start it with systemd-nspawn{}{}", options, allowed);
}

std::string kubernetes_remedy(std::string_view resource, std::string_view plugin) {
  return fmt::format("request it in the pod (resources.limits: {}), on nodes with {} device plugin",
                     resource, plugin);
}

// All nodes of /dev/dri, because the numbers of the cards are the host's.
std::string device_options(std::string_view vendor) {
  return vendor == "amd" ? " --device /dev/kfd --device /dev/dri" : " --device /dev/dri";
}

}  // namespace

Runtime runtime_of(std::string_view container) {
  const std::string name = base::lower(container);
  const auto found = std::find_if(
      kSpellings.begin(), kSpellings.end(),
      [&](const Spelling& spelling) { return name.find(spelling.part) != std::string::npos; });
  return found == kSpellings.end() ? Runtime::kOther : found->runtime;
}

std::string pass_nvidia(const Facts& facts, const std::vector<std::string>& nodes) {
  const std::vector<std::string> paths =
      nodes.empty() ? std::vector<std::string>{"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"}
                    : nodes;
  // Of the driver's libraries these runtimes bring none.
  const std::string libraries =
      facts.nvidia.library.empty() && !facts.nvidia.module.empty()
          ? fmt::format("; it also needs the libraries of the host's driver, {}",
                        facts.nvidia.module)
          : std::string();
  const std::string program = program_of(facts);
  switch (runtime_of(facts.container)) {
    case Runtime::kDocker:
    case Runtime::kNerdctl:
      return fmt::format("start it with {} --gpus all; the host needs nvidia-container-toolkit",
                         program);
    case Runtime::kPodman:
      return fmt::format(
          "start it with {} --device nvidia.com/gpu=all; the host needs nvidia-container-toolkit",
          program);
    case Runtime::kKubernetes:
      return kubernetes_remedy("nvidia.com/gpu: 1", "NVIDIA's");
    case Runtime::kApptainer:
      return fmt::format("start it with {} --nv", program);
    case Runtime::kLxc:
      return lxc_remedy(paths, "", "") + libraries;
    case Runtime::kNspawn:
      return nspawn_remedy(paths, "") + libraries;
    case Runtime::kOther:
      break;
  }
  return fmt::format("start it with the host's {}{}", fmt::join(paths, ", "), libraries);
}

std::string pass_nodes(const Facts& facts, std::string_view vendor) {
  const std::vector<DeviceNode> nodes = nodes_of(facts, vendor);
  std::vector<std::string> paths;
  for (const DeviceNode& node : nodes) paths.push_back(node.path);
  const std::string program = program_of(facts);
  switch (runtime_of(facts.container)) {
    case Runtime::kDocker:
    case Runtime::kNerdctl:
    case Runtime::kPodman:
      return fmt::format("start it with {}{}{}", program, device_options(vendor),
                         group_options(facts, nodes));
    case Runtime::kKubernetes:
      return vendor == "amd"
                 ? kubernetes_remedy("amd.com/gpu: 1", "AMD's")
                 : kubernetes_remedy("gpu.intel.com/xe: 1, or gpu.intel.com/i915: 1", "Intel's");
    case Runtime::kApptainer:
      return fmt::format("start it with {}{}", program,
                         vendor == "amd" ? " --rocm" : " --bind /dev/dri");
    case Runtime::kLxc:
      return lxc_remedy(paths, ",gid=GID",
                        vendor == "amd" ? " gid=GID and lxc config device add NAME kfd unix-char "
                                          "source=/dev/kfd gid=GID"
                                        : " gid=GID") +
             "; GID is the number of the container's group render";
    case Runtime::kNspawn:
      return nspawn_remedy(
          paths, vendor == "amd"
                     ? " --property=DeviceAllow='char-kfd rw' --property=DeviceAllow='char-drm rw'"
                     : " --property=DeviceAllow='char-drm rw'");
    case Runtime::kOther:
      break;
  }
  return fmt::format("start it with the host's {}, and in the groups that own them",
                     fmt::join(paths, " and "));
}

std::string allow_node(const Facts& facts, const DeviceNode& node, std::string_view vendor) {
  const std::string group = node.group.empty() ? "render" : node.group;
  const std::string member = vendor == "amd" && group != "video" ? group + ",video" : group;
  std::string on_host = fmt::format("usermod -aG {} $USER, and log in again", member);
  if (!in_container(facts)) return on_host;
  switch (runtime_of(facts.container)) {
    case Runtime::kDocker:
    case Runtime::kNerdctl:
    case Runtime::kPodman:
      return vendor == "nvidia" ? fmt::format("start it with {}{}", program_of(facts),
                                              group_options(facts, {node}))
                                : pass_nodes(facts, vendor);
    case Runtime::kKubernetes:
      return fmt::format("add the group to the pod: securityContext.supplementalGroups: [{}]",
                         fmt::join(numbers_of_groups({node}), ", "));
    case Runtime::kApptainer:
      return fmt::format(
          "the user is the host's: on the host, add it to the group that owns {}: "
          "usermod -aG {} $USER, and log in again",
          node.path, is_number(group) ? fmt::format("$(stat -c %G {})", node.path) : group);
    case Runtime::kLxc:
      return vendor == "nvidia" ? lxc_remedy({node.path}, ",gid=GID", " gid=GID")
                                : pass_nodes(facts, vendor);
    case Runtime::kNspawn:
    case Runtime::kOther:
      break;
  }
  return fmt::format(
      "make this user a member of the group that owns {} on the host, by its number: "
      "{}",
      node.path, number_of_group(node));
}

}  // namespace torchport::host
