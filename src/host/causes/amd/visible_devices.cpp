// Finds variables that hide the GPUs.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> hidden(const Facts& facts) {
  if (!uses_rocm(facts)) return std::nullopt;
  for (const char* name : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    const auto value = facts.variable(name);
    if (value && (value->empty() || value->starts_with('-')))
      return Diagnosis{"hidden", fmt::format("{}=\"{}\" hides every GPU", name, *value),
                       fmt::format("unset {}", name), kEnvironment};
  }
  return std::nullopt;
}

const CauseRegistration kHidden(&hidden);

}  // namespace

}  // namespace torchport::host
