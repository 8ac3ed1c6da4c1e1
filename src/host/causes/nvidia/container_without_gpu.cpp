// Finds a container that was started without the host's GPU.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/container.h"
#include "host/causes/queries.h"

namespace torchport::host::nvidia {

namespace {

// Whether the container runtime was told to leave out the libraries for computing.
bool without_compute(const Facts& facts) {
  const auto given = facts.variable("NVIDIA_DRIVER_CAPABILITIES");
  return given && facts.nvidia.library.empty() && given->find("compute") == std::string::npos &&
         given->find("all") == std::string::npos;
}

// How a container in WSL gets the node and the libraries of Windows' driver.
std::string pass_dxg(const Facts& facts) {
  const Runtime runtime = runtime_of(facts.container);
  if (runtime == Runtime::kDocker || runtime == Runtime::kPodman)
    return fmt::format("start it with {} run --device /dev/dxg -v /usr/lib/wsl:/usr/lib/wsl",
                       runtime == Runtime::kDocker ? "docker" : "podman");
  return "start it with /dev/dxg and /usr/lib/wsl";
}

// A container of Docker Desktop has Windows' GPU by /dev/dxg, and no /dev/nvidia*.
std::optional<Diagnosis> container_in_wsl(const Facts& facts) {
  if (!in_container(facts) || !facts.wsl || is_built_for_rocm(facts.torch())) return std::nullopt;
  const bool has_node = find_node(facts, "/dev/dxg") != nullptr;
  if (has_node && !facts.nvidia.library.empty()) return std::nullopt;
  const bool of_intel = is_built_for_xpu(facts.torch());
  if (has_node && of_intel) return std::nullopt;
  return Diagnosis{"container-without-gpu",
                   fmt::format("this {} container in WSL was started without the GPU: it has no {}",
                               facts.container, has_node ? "libcuda" : "/dev/dxg"),
                   of_intel ? pass_dxg(facts) + "; Windows needs Intel's driver"
                            : pass_nvidia(facts, {"/dev/dxg"}) + "; Windows needs NVIDIA's driver",
                   kContainer};
}

std::optional<Diagnosis> capability_missing(const Facts& facts) {
  if (facts.wsl || !in_container(facts) || facts.nvidia.module.empty() || !has_card_node(facts) ||
      !without_compute(facts))
    return std::nullopt;
  return Diagnosis{
      "no-compute-capability",
      fmt::format("NVIDIA_DRIVER_CAPABILITIES={} leaves libcuda out of this {} container",
                  *facts.variable("NVIDIA_DRIVER_CAPABILITIES"), facts.container),
      runtime_of(facts.container) == Runtime::kLxc
          ? "lxc config set NAME nvidia.driver.capabilities=compute,utility (LXD; Incus: incus "
            "instead of lxc), and start it again"
          : "start it with -e NVIDIA_DRIVER_CAPABILITIES=compute,utility",
      kContainer};
}

std::optional<Diagnosis> container_without_runtime(const Facts& facts) {
  if (facts.wsl || !in_container(facts) || facts.nvidia.module.empty()) return std::nullopt;
  if (has_card_node(facts) && (!facts.nvidia.library.empty() || without_compute(facts)))
    return std::nullopt;
  return Diagnosis{
      "container-without-gpu",
      fmt::format(
          "the host has NVIDIA's driver {}, but this {} container was started without the GPU",
          facts.nvidia.module, facts.container),
      pass_nvidia(facts, {}), kContainer};
}

const CauseRegistration kCapability(&capability_missing);
const CauseRegistration kContainerWithout(&container_without_runtime);
const CauseRegistration kContainerInWsl(&container_in_wsl);

}  // namespace

}  // namespace torchport::host::nvidia
