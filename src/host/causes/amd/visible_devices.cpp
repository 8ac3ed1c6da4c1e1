// Finds variables that hide the GPUs.
#include <fmt/format.h>

#include "devices/device_kind.h"
#include "devices/visibility.h"
#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host::amd {

namespace {

std::optional<Diagnosis> hidden(const Facts& facts) {
  if (!uses_rocm(facts)) return std::nullopt;
  const devices::DeviceKind& kind = *devices::find_kind("cuda");
  std::vector<std::string_view> variables = kind.rocm_visibility_variables;
  variables.push_back(kind.visibility_variable);
  for (const std::string_view name : variables) {
    const auto value = facts.variable(std::string(name));
    if (!value) continue;
    const int count = static_cast<int>(facts.of("amd").size());
    if (devices::named_devices(*value).empty())
      return Diagnosis{"hidden", fmt::format("{}=\"{}\" hides every GPU", name, *value),
                       fmt::format("unset {}", name), kEnvironment};
    if (devices::named_devices(*value, count).empty())
      return Diagnosis{"hidden",
                       fmt::format("{}={} names a GPU first that does not exist: there {} {}", name,
                                   *value, count == 1 ? "is" : "are", count),
                       fmt::format("unset {}, or number the GPUs from 0", name), kEnvironment};
  }
  return std::nullopt;
}

const CauseRegistration kHidden(&hidden);

}  // namespace

}  // namespace torchport::host::amd
