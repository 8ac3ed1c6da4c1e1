// Finds a build for the CPU on a Jetson.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> jetson(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (!is_jetson(facts) || torch == nullptr || !torch->cuda.empty()) return std::nullopt;
  return Diagnosis{
      "jetson-build",
      fmt::format("this is a Jetson, and torch {} from PyPI is a build for the CPU",
                  torch->version),
      "install NVIDIA's own wheel for this JetPack (developer.nvidia.com, PyTorch for Jetson)",
      kBuild};
}

const CauseRegistration kJetson(&jetson);

}  // namespace

}  // namespace torchport::host
