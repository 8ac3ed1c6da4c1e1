// Finds variables that hide the GPUs.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> hidden(const Facts& facts) {
  if (!has_nvidia(facts)) return std::nullopt;
  const auto visible = facts.variable("CUDA_VISIBLE_DEVICES");
  if (visible) {
    const bool none = visible->empty() || visible->starts_with('-') ||
                      (!visible->empty() && visible->find_first_of("0123456789GM") != 0);
    if (none)
      return Diagnosis{
          "hidden", fmt::format("CUDA_VISIBLE_DEVICES=\"{}\" hides every GPU", *visible),
          "unset CUDA_VISIBLE_DEVICES, or name the devices: CUDA_VISIBLE_DEVICES=0", kEnvironment};
    const auto numbers = versions::parse_version(*visible);
    if (!numbers.empty() && visible->front() >= '0' && visible->front() <= '9' &&
        numbers.front() >= static_cast<int>(facts.of("nvidia").size()))
      return Diagnosis{
          "hidden",
          fmt::format("CUDA_VISIBLE_DEVICES={} names GPU {} first, but there {} only {}", *visible,
                      numbers.front(), facts.of("nvidia").size() == 1 ? "is" : "are",
                      facts.of("nvidia").size()),
          "number the GPUs from 0; CUDA ignores every GPU after a number that does not exist",
          kEnvironment};
  }
  const auto given = facts.variable("NVIDIA_VISIBLE_DEVICES");
  if (given && in_container(facts) && (given->empty() || *given == "void" || *given == "none"))
    return Diagnosis{
        "hidden-from-container",
        fmt::format(
            "NVIDIA_VISIBLE_DEVICES=\"{}\": the container runtime gave this container no GPU",
            *given),
        "start the container with --gpus all, or -e NVIDIA_VISIBLE_DEVICES=all", kContainer};
  return std::nullopt;
}

const CauseRegistration kHidden(&hidden);

}  // namespace

}  // namespace torchport::host
