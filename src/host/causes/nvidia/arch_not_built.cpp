// Finds GPUs that torch's build has no kernels for.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "releases/cuda.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> arch_missing(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || torch->archs.empty()) return std::nullopt;
  std::vector<const Gpu*> without;
  const auto gpus = facts.of("nvidia");
  for (const Gpu* gpu : gpus)
    if (!gpu->capability.empty() && !releases::runs_on(torch->archs, gpu->capability))
      without.push_back(gpu);
  if (without.empty()) return std::nullopt;
  Diagnosis diagnosis{
      "arch-not-built",
      fmt::format("torch {} has no kernels for {} (compute capability {}), only for {}",
                  torch->version, without.front()->name, without.front()->capability,
                  fmt::join(torch->archs, " ")),
      "install a torch that is built for this GPU", kBuild};
  if (without.size() < gpus.size()) {
    diagnosis.blocks = false;
    diagnosis.remedy =
        "leave this GPU out with CUDA_VISIBLE_DEVICES, or install a torch that is built for all "
        "GPUs";
  }
  return diagnosis;
}

const CauseRegistration kArch(&arch_missing);

}  // namespace

}  // namespace torchport::host
