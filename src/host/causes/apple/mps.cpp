// Finds what keeps torch from MPS.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "releases/table.h"
#include "versions/version.h"

namespace torchport::host::apple {

namespace {

std::optional<Diagnosis> apple(const Facts& facts) {
  if (facts.system != "Darwin" || facts.torch() == nullptr) return std::nullopt;
  const bool silicon = !facts.of("apple").empty();
  if (!silicon && facts.machine == "arm64")
    return Diagnosis{
        "gpu-not-asked",
        "this Mac has an Apple chip, but whether Metal shows its GPU to programs was not recorded",
        "ask torch: python3 -c \"import torch; print(torch.backends.mps.is_available())\"; where "
        "it says False, run it in a Terminal of the logged-in user: sandboxes, virtual machines "
        "and "
        "some remote sessions have no Metal",
        kHardware};
  if (silicon && facts.machine == "x86_64")
    return Diagnosis{
        "rosetta",
        "this Python is built for Intel processors and runs under Rosetta: its torch has no MPS",
        "install a Python for arm64, and torch in it", kBuild};
  const releases::TorchRelease* release = releases::release_of(facts.torch()->version);
  const std::string needed = release == nullptr ? std::string() : release->macos;
  if (silicon && !needed.empty() && !facts.os_version.empty() &&
      versions::older(facts.os_version, needed))
    return Diagnosis{"macos-too-old",
                     fmt::format("macOS {} is too old for the MPS of torch {}", facts.os_version,
                                 facts.torch()->version),
                     fmt::format("update to macOS {} or newer", needed), kKernel};
  return std::nullopt;
}

const CauseRegistration kApple(&apple);

}  // namespace

}  // namespace torchport::host::apple
