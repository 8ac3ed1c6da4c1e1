// Finds a build that is not for Jetsons on a Jetson.
#include <algorithm>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"
#include "releases/cuda.h"
#include "versions/version.h"

namespace torchport::host::nvidia {

namespace {

// Code for other cards does not run on a Jetson, even if it is for an older card of its generation:
// "sm_87" or PTX must be there ("CUDA for Tegra", binary compatibility).
bool has_code_for(const Torch& torch, const std::string& capability) {
  std::string number = capability;
  number.erase(std::remove(number.begin(), number.end(), '.'), number.end());
  return std::any_of(torch.archs.begin(), torch.archs.end(), [&](const std::string& arch) {
    return arch == "sm_" + number ||
           (arch.starts_with("compute_") && releases::runs_on({arch}, capability));
  });
}

std::optional<Diagnosis> jetson(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (!is_jetson(facts) || torch == nullptr || !torch->fault.empty()) return std::nullopt;
  const auto gpus = facts.of("nvidia");
  const std::string capability = gpus.empty() ? std::string() : gpus.front()->capability;
  std::string why;
  if (torch->cuda.empty())
    why = fmt::format("torch {} from PyPI is a build for the CPU", torch->version);
  else if (!capability.empty() && !torch->archs.empty() && !has_code_for(*torch, capability))
    why = fmt::format("torch {} is built for desktops and servers: it has code for {}, not for {}",
                      torch->version, fmt::join(torch->archs, " "), capability);
  else if (!facts.nvidia.cuda.empty() && !versions::same_major(facts.nvidia.cuda, torch->cuda) &&
           versions::older(facts.nvidia.cuda, torch->cuda))
    why = fmt::format("its JetPack runs CUDA up to {}, but torch {} is built with CUDA {}",
                      facts.nvidia.cuda, torch->version, torch->cuda);
  if (why.empty()) return std::nullopt;
  return Diagnosis{
      "jetson-build", "this is a Jetson, and " + why,
      "install NVIDIA's own wheel for this JetPack (developer.nvidia.com, PyTorch for Jetson)",
      kBuild};
}

const CauseRegistration kJetson(&jetson);

}  // namespace

}  // namespace torchport::host::nvidia
