// Finds variables that hide the GPUs.
#include <fmt/format.h>

#include "devices/device_kind.h"
#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> hidden(const Facts& facts) {
  if (!uses_rocm(facts)) return std::nullopt;
  const devices::DeviceKind& kind = *devices::find_kind("cuda");
  std::vector<std::string_view> variables = kind.rocm_visibility_variables;
  variables.push_back(kind.visibility_variable);
  for (const std::string_view name : variables) {
    const auto value = facts.variable(std::string(name));
    if (value && (value->empty() || value->starts_with('-')))
      return Diagnosis{"hidden", fmt::format("{}=\"{}\" hides every GPU", name, *value),
                       fmt::format("unset {}", name), kEnvironment};
  }
  return std::nullopt;
}

const CauseRegistration kHidden(&hidden);

}  // namespace

}  // namespace torchport::host
