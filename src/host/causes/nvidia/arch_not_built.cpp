// Finds GPUs that torch's build has no kernels for.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/install.h"
#include "host/causes/queries.h"
#include "releases/cuda.h"
#include "releases/gpu_arch.h"

namespace torchport::host::nvidia {

namespace {

// What to install for a card of this compute capability.
std::string builds_for(const Facts& facts, const Gpu& gpu) {
  const std::string& capability = gpu.capability;
  if (const std::string build = build_to_install(facts); !build.empty())
    return fmt::format("install a build that has code for {}: {}", capability, build);
  const auto last = releases::last_build_for(capability);
  if (!last.cuda.empty())
    return fmt::format(
        "install a build that has code for {}: the newest one is torch {} for CUDA {}", capability,
        last.torch, last.cuda);
  if (!last.torch.empty())
    return fmt::format(
        "torch {} was the last release with code for {}: use another GPU, or compile torch from "
        "source (nvcc supports it {})",
        last.torch, capability, releases::releases_for(releases::number_of(capability)));
  return fmt::format(
      "no release of torch that torchport knows has code for {}: use another GPU, or "
      "compile torch from source",
      capability);
}

std::optional<Diagnosis> arch_missing(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || torch->archs.empty()) return std::nullopt;
  if (is_jetson(facts)) return std::nullopt;  // there is a separate cause for Jetsons
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
      builds_for(facts, *without.front()), kBuild};
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

}  // namespace torchport::host::nvidia
