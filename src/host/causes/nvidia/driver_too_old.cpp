// Finds a driver that is older than the CUDA of torch's build.
#include <algorithm>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"
#include "releases/cuda.h"
#include "releases/gpu_arch.h"
#include "versions/version.h"

namespace torchport::host::nvidia {

namespace {

// The newest driver that NVIDIA makes for all of these cards, by its major version; 0 if it is not
// limited.
int last_driver(const Facts& facts) {
  int last = 0;
  for (const Gpu* gpu : facts.of("nvidia")) {
    const int one = releases::last_driver_for(gpu->capability);
    if (one != 0 && (last == 0 || one < last)) last = one;
  }
  return last;
}

bool runs_on_a_card(const Facts& facts) {
  const auto gpus = facts.of("nvidia");
  const auto& archs = facts.torch()->archs;
  return archs.empty() || std::any_of(gpus.begin(), gpus.end(), [&](const Gpu* gpu) {
           return gpu->capability.empty() || releases::runs_on(archs, gpu->capability);
         });
}

std::string update(const Facts& facts, const std::string& least) {
  if (facts.wsl) return "update NVIDIA's driver in Windows";
  return fmt::format("update the {} to {} or newer",
                     in_container(facts) ? "host's driver" : "driver", least);
}

std::optional<Diagnosis> too_old(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || facts.nvidia.module.empty()) return std::nullopt;
  // A Jetson's driver comes with its JetPack and has other versions; there is a separate cause.
  if (driver_mismatch(facts) || is_jetson(facts)) return std::nullopt;
  const std::string driver = has_compat_library(facts) ? facts.nvidia.library : facts.nvidia.module;
  const std::string least = releases::least_driver(torch->cuda);
  if (least.empty() || !versions::older(driver, least)) return std::nullopt;
  // A newer driver does not help a build that has no code for the card.
  if (!runs_on_a_card(facts)) return std::nullopt;
  const int last = last_driver(facts);
  const bool beyond = last != 0 && versions::older(fmt::format("{}.999", last), least);
  const std::string runs =
      facts.nvidia.cuda.empty() ? releases::cuda_of_driver(driver) : facts.nvidia.cuda;
  return Diagnosis{
      "driver-too-old",
      fmt::format("the driver {} runs CUDA up to {}, but torch {} is built with CUDA {}", driver,
                  runs.empty() ? "10" : runs, torch->version, torch->cuda),
      beyond ? fmt::format("install a torch for an older CUDA: {} is NVIDIA's last driver for this "
                           "card",
                           last)
             : update(facts, least) + ", or install a torch for an older CUDA",
      kBuild};
}

const CauseRegistration kTooOld(&too_old);

}  // namespace

}  // namespace torchport::host::nvidia
