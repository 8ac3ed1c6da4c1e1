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

std::string give_compute(const Facts& facts) {
  switch (runtime_of(facts.container)) {
    case Runtime::kLxc:
      return "lxc config set NAME nvidia.driver.capabilities=compute,utility (LXD; Incus: incus "
             "instead of lxc), and start it again";
    case Runtime::kKubernetes:
      return "set it in the pod: env: [{name: NVIDIA_DRIVER_CAPABILITIES, value: "
             "\"compute,utility\"}]";
    default:
      return "start it with -e NVIDIA_DRIVER_CAPABILITIES=compute,utility";
  }
}

std::optional<Diagnosis> capability_missing(const Facts& facts) {
  if (facts.wsl || !in_container(facts) || facts.nvidia.module.empty() || !has_card_node(facts) ||
      !without_compute(facts))
    return std::nullopt;
  return Diagnosis{
      "no-compute-capability",
      fmt::format("NVIDIA_DRIVER_CAPABILITIES={} leaves libcuda out of this {} container",
                  *facts.variable("NVIDIA_DRIVER_CAPABILITIES"), facts.container),
      give_compute(facts), kContainer};
}

// The nodes were passed in, and the libraries were not.
std::string pass_libcuda(const Facts& facts) {
  if (runtime_of(facts.container) != Runtime::kKubernetes) return pass_nvidia(facts, {});
  return "find it: find / -name 'libcuda.so.1*'; on GKE it is in /usr/local/nvidia/lib64, and the "
         "pod needs env LD_LIBRARY_PATH=/usr/local/nvidia/lib64; else give the pod NVIDIA's "
         "runtime "
         "(runtimeClassName: nvidia)";
}

std::optional<Diagnosis> container_without_runtime(const Facts& facts) {
  if (facts.wsl || !in_container(facts) || facts.nvidia.module.empty()) return std::nullopt;
  if (has_card_node(facts) && (!facts.nvidia.library.empty() || without_compute(facts)))
    return std::nullopt;
  // Apptainer shows the host's nodes in every container.
  if (has_card_node(facts) && runtime_of(facts.container) != Runtime::kApptainer)
    return Diagnosis{
        "container-without-libcuda",
        fmt::format("this {} container has the card's device nodes, but no libcuda.so.1 "
                    "of the host's driver {} was found",
                    facts.container, facts.nvidia.module),
        pass_libcuda(facts), kContainer};
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
