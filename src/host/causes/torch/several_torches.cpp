// Finds a second torch in the environment.
#include <fmt/format.h>

#include "host/causes/cause.h"

namespace torchport::host::torch {

namespace {

std::optional<Diagnosis> several(const Facts& facts) {
  if (facts.torches.size() < 2) return std::nullopt;
  return Diagnosis{
      "several-torches",
      fmt::format("torch is installed twice: {} in {} and {} in {}; Python imports the first",
                  facts.torches[0].version, facts.torches[0].root, facts.torches[1].version,
                  facts.torches[1].root),
      "remove the one that you do not want (pip uninstall torch; look at PYTHONPATH and ~/.local)",
      kBuild, false};
}

const CauseRegistration kSeveral(&several);

}  // namespace

}  // namespace torchport::host::torch
