// Finds cards that the driver serves, but that no program can use as they are: lost ones, those
// with broken memory, compute modes, NVSwitch without its manager.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host::nvidia {

namespace {

// The cards of NVIDIA of which this holds.
template <class Holds>
std::vector<const Gpu*> cards_that(const Facts& facts, Holds holds) {
  std::vector<const Gpu*> found = facts.of("nvidia");
  found.erase(
      std::remove_if(found.begin(), found.end(), [&](const Gpu* gpu) { return !holds(*gpu); }),
      found.end());
  return found;
}

std::string name_of(const Gpu& gpu) {
  return gpu.bus.empty() ? gpu.name : fmt::format("{} at {}", gpu.name, gpu.bus);
}

std::optional<Diagnosis> lost(const Facts& facts) {
  auto cards = cards_that(facts, [](const Gpu& gpu) { return gpu.fault == "lost"; });
  if (cards.empty() && facts.nvidia.nvml == "GPU is lost") cards = facts.of("nvidia");
  if (cards.empty()) return std::nullopt;
  return Diagnosis{
      "gpu-lost",
      fmt::format("{} does not answer any more (NVML: GPU is lost)", name_of(*cards.front())),
      "reboot; if it happens again, look for \"Xid\" in dmesg, and at power and "
      "cooling of the card",
      kHardware, cards.size() == facts.of("nvidia").size()};
}

std::optional<Diagnosis> broken_memory(const Facts& facts) {
  const auto cards =
      cards_that(facts, [](const Gpu& gpu) { return gpu.fault.starts_with("rows-"); });
  if (cards.empty()) return std::nullopt;
  const Gpu& card = *cards.front();
  const bool failed = card.fault == "rows-failed";
  return Diagnosis{
      "broken-memory",
      fmt::format(
          "the memory of {} has errors that ECC cannot correct, {}", name_of(card),
          failed ? "and no spare rows are left" : "and spare rows replace it at the next reset"),
      failed ? "replace the card; until then programs may stop with \"uncorrectable ECC error\""
             : fmt::format("nvidia-smi --gpu-reset -i {}, or reboot", card.bus),
      kHardware, false};
}

std::optional<Diagnosis> compute_mode(const Facts& facts) {
  const auto cards = cards_that(facts, [](const Gpu& gpu) {
    return gpu.compute_mode == "prohibited" || gpu.compute_mode == "exclusive process";
  });
  if (cards.empty()) return std::nullopt;
  const Gpu& card = *cards.front();
  if (card.compute_mode == "prohibited")
    return Diagnosis{"compute-mode",
                     fmt::format("the compute mode of {} is \"prohibited\": no program can use it",
                                 name_of(card)),
                     "nvidia-smi -c 0 as root sets the default mode", kUserDriver,
                     cards.size() == facts.of("nvidia").size()};
  return Diagnosis{
      "compute-mode",
      fmt::format("the compute mode of {} is \"exclusive process\": only one program at a time can "
                  "use it",
                  name_of(card)),
      "if others should use it, too: nvidia-smi -c 0 as root, or NVIDIA's MPS", kUserDriver, false};
}

std::optional<Diagnosis> no_fabric_manager(const Facts& facts) {
  const auto cards = cards_that(facts, [](const Gpu& gpu) {
    return gpu.fabric == "not started" || gpu.fabric == "in progress";
  });
  if (cards.empty()) return std::nullopt;
  return Diagnosis{
      "no-fabric-manager",
      fmt::format("{} is connected by NVSwitch, whose setup is \"{}\": CUDA fails with error 802 "
                  "until it is completed",
                  name_of(*cards.front()), cards.front()->fabric),
      fmt::format("install the fabric manager of the driver's version, {}, and start it: systemctl "
                  "enable --now nvidia-fabricmanager",
                  facts.nvidia.module),
      kKernel};
}

const CauseRegistration kLost(&lost);
const CauseRegistration kBrokenMemory(&broken_memory);
const CauseRegistration kComputeMode(&compute_mode);
const CauseRegistration kNoFabricManager(&no_fabric_manager);

}  // namespace

}  // namespace torchport::host::nvidia
