// Finds a container that was started without the host's GPU.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> container_without_runtime(const Facts& facts) {
  if (!in_container(facts) || facts.nvidia.module.empty()) return std::nullopt;
  if (!facts.nvidia.library.empty() && find_node(facts, "/dev/nvidia") != nullptr)
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

const CauseRegistration kContainerWithout(&container_without_runtime);

}  // namespace

}  // namespace torchport::host
