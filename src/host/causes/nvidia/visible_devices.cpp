// Finds variables that hide the GPUs.
#include <fmt/format.h>

#include "devices/device_kind.h"
#include "devices/visibility.h"
#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> hidden(const Facts& facts) {
  if (!has_nvidia(facts)) return std::nullopt;
  const std::string_view variable = devices::find_kind("cuda")->visibility_variable;
  if (const auto visible = facts.variable(std::string(variable))) {
    const auto named = devices::named_devices(*visible);
    if (named.empty())
      return Diagnosis{"hidden", fmt::format("{}=\"{}\" hides every GPU", variable, *visible),
                       fmt::format("unset {0}, or name the devices: {0}=0", variable),
                       kEnvironment};
    const int count = static_cast<int>(facts.of("nvidia").size());
    if (named.front().number >= count)
      return Diagnosis{
          "hidden",
          fmt::format("{}={} names GPU {} first, but there {} only {}", variable, *visible,
                      named.front().number, count == 1 ? "is" : "are", count),
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
