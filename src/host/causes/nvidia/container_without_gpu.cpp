// Finds a container that was started without the host's GPU.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host::nvidia {

namespace {

// Whether the container runtime was told to leave out the libraries for computing.
bool without_compute(const Facts& facts) {
  const auto given = facts.variable("NVIDIA_DRIVER_CAPABILITIES");
  return given && facts.nvidia.library.empty() && given->find("compute") == std::string::npos &&
         given->find("all") == std::string::npos;
}

// A container of Docker Desktop has Windows' GPU by /dev/dxg, and no /dev/nvidia*.
std::optional<Diagnosis> container_in_wsl(const Facts& facts) {
  if (!in_container(facts) || !facts.wsl || is_built_for_rocm(facts.torch())) return std::nullopt;
  const bool has_node = find_node(facts, "/dev/dxg") != nullptr;
  if (has_node && !facts.nvidia.library.empty()) return std::nullopt;
  return Diagnosis{"container-without-gpu",
                   fmt::format("this {} container in WSL was started without the GPU: it has no {}",
                               facts.container, has_node ? "libcuda" : "/dev/dxg"),
                   "start it with docker run --gpus all; Windows needs NVIDIA's driver",
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
      "start it with -e NVIDIA_DRIVER_CAPABILITIES=compute,utility", kContainer};
}

std::optional<Diagnosis> container_without_runtime(const Facts& facts) {
  if (facts.wsl || !in_container(facts) || facts.nvidia.module.empty()) return std::nullopt;
  if (has_card_node(facts) && (!facts.nvidia.library.empty() || without_compute(facts)))
    return std::nullopt;
  const std::string remedy =
      facts.container == "kubernetes"
          ? "request it in the pod (resources.limits: nvidia.com/gpu: 1), on nodes with NVIDIA's "
            "device plugin"
          : fmt::format("start it with {}; the host needs nvidia-container-toolkit",
                        facts.container == "podman" ? "podman run --device nvidia.com/gpu=all"
                                                    : "docker run --gpus all");
  return Diagnosis{
      "container-without-gpu",
      fmt::format(
          "the host has NVIDIA's driver {}, but this {} container was started without the GPU",
          facts.nvidia.module, facts.container),
      remedy, kContainer};
}

const CauseRegistration kCapability(&capability_missing);
const CauseRegistration kContainerWithout(&container_without_runtime);
const CauseRegistration kContainerInWsl(&container_in_wsl);

}  // namespace

}  // namespace torchport::host::nvidia
