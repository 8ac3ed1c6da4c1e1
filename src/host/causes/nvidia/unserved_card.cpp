// Finds cards that the loaded driver of NVIDIA does not serve: those that it has given up, and
// those that it could not start.
#include "host/causes/nvidia/unserved_card.h"

#include <algorithm>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/nvidia/packages.h"
#include "host/causes/queries.h"
#include "releases/gpu_arch.h"
#include "versions/version.h"

namespace torchport::host::nvidia {

bool is_dropped(const Facts& facts, const Gpu& gpu) {
  const int last = releases::last_driver_for(gpu.capability);
  return last != 0 && !facts.nvidia.module.empty() && !is_jetson(facts) &&
         versions::older(fmt::format("{}.999.999", last), facts.nvidia.module);
}

namespace {

std::optional<Diagnosis> dropped(const Facts& facts) {
  const auto cards = facts.of("nvidia");
  const auto card = std::find_if(cards.begin(), cards.end(),
                                 [&](const Gpu* gpu) { return is_dropped(facts, *gpu); });
  if (card == cards.end()) return std::nullopt;
  const int last = releases::last_driver_for((*card)->capability);
  const bool all = std::all_of(cards.begin(), cards.end(),
                               [&](const Gpu* gpu) { return is_dropped(facts, *gpu); });
  return Diagnosis{
      "card-dropped-by-driver",
      fmt::format("the driver {} does not serve {} (compute capability {}): {} was NVIDIA's last "
                  "driver for it",
                  facts.nvidia.module, (*card)->name.empty() ? (*card)->id : (*card)->name,
                  (*card)->capability, last),
      facts.wsl ? fmt::format("install NVIDIA's driver {} in Windows", last)
                : fmt::format(
                      "install the {} {} and reboot (Ubuntu: apt install nvidia-driver-{}; others: "
                      "https://www.nvidia.com/drivers)",
                      in_container(facts) ? "host's driver" : "driver", last, last),
      kKernel, all};
}

// NVML gives each card that the driver has started a name. Containers may be given some cards only,
// and WSL has no cards of its own.
std::optional<Diagnosis> not_started(const Facts& facts) {
  if (facts.nvidia.nvml != "ok" || facts.wsl || is_jetson(facts)) return std::nullopt;
  const auto cards = facts.of("nvidia");
  const auto unknown = [](const Gpu* gpu) {
    return gpu->driver == "nvidia" && gpu->name.empty() && gpu->capability.empty();
  };
  const auto card = std::find_if(cards.begin(), cards.end(), unknown);
  if (card == cards.end()) return std::nullopt;
  const bool all = std::all_of(cards.begin(), cards.end(), unknown);
  if (!all && in_container(facts)) return std::nullopt;
  const std::string series = facts.nvidia.module.substr(0, facts.nvidia.module.find('.'));
  return Diagnosis{"card-not-started",
                   fmt::format("the driver {} is bound to the card {} at {}, but could not start "
                               "it: NVML does not list it",
                               facts.nvidia.module, (*card)->id, (*card)->bus),
                   is_blackwell(**card)
                       ? fmt::format("this card needs NVIDIA's open kernel module: Ubuntu: apt "
                                     "install nvidia-driver-{}-open, "
                                     "then reboot; dmesg | grep NVRM says why if it stays so",
                                     series)
                       : "dmesg | grep NVRM says why",
                   kKernel, all};
}

const CauseRegistration kDropped(&dropped);
const CauseRegistration kNotStarted(&not_started);

}  // namespace

}  // namespace torchport::host::nvidia
