// Finds GPUs that torch's build has no kernels for.
#include <algorithm>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> arch_missing(const Facts& facts) {
  if (!uses_rocm(facts) || facts.torch()->archs.empty()) return std::nullopt;
  const auto& archs = facts.torch()->archs;
  for (const Gpu* gpu : facts.of("amd")) {
    if (gpu->capability.empty() ||
        std::find(archs.begin(), archs.end(), gpu->capability) != archs.end())
      continue;
    if (facts.variable("HSA_OVERRIDE_GFX_VERSION")) continue;
    return Diagnosis{"arch-not-built",
                     fmt::format("torch {} has no kernels for {} ({})", facts.torch()->version,
                                 gpu->name, gpu->capability),
                     "HSA_OVERRIDE_GFX_VERSION (10.3.0, 11.0.0) makes it run the kernels of a card "
                     "of the same generation; AMD does not support this",
                     kBuild};
  }
  return std::nullopt;
}

const CauseRegistration kArch(&arch_missing);

}  // namespace

}  // namespace torchport::host
