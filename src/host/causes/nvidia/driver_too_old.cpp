// Finds a driver that is older than the CUDA of torch's build.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "releases/cuda.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> too_old(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || facts.nvidia.module.empty()) return std::nullopt;
  const std::string least = releases::least_driver(torch->cuda);
  if (least.empty() || !versions::older(facts.nvidia.module, least)) return std::nullopt;
  const std::string runs =
      facts.nvidia.cuda.empty() ? releases::cuda_of_driver(facts.nvidia.module) : facts.nvidia.cuda;
  return Diagnosis{
      "driver-too-old",
      fmt::format("the driver {} runs CUDA up to {}, but torch {} is built with CUDA {}",
                  facts.nvidia.module, runs.empty() ? "10" : runs, torch->version, torch->cuda),
      fmt::format("update the driver to {} or newer, or install a torch for an older CUDA", least),
      kBuild};
}

const CauseRegistration kTooOld(&too_old);

}  // namespace

}  // namespace torchport::host
