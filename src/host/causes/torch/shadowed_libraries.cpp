// Finds CUDA libraries that are loaded instead of those that torch brings.
#include <fmt/format.h>

#include "host/causes/cause.h"

namespace torchport::host::torch {

namespace {

std::optional<Diagnosis> shadowed(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || facts.shadowing.empty()) return std::nullopt;
  return Diagnosis{"shadowed-libraries",
                   fmt::format("LD_LIBRARY_PATH leads to {}, which may be loaded instead of the "
                               "libraries that come with torch {}",
                               fmt::join(facts.shadowing, ", "), torch->version),
                   "remove the folder from LD_LIBRARY_PATH where torch runs", kEnvironment, false};
}

const CauseRegistration kShadowed(&shadowed);

}  // namespace

}  // namespace torchport::host::torch
