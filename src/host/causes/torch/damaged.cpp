// Finds a torch that cannot be read.
#include <fmt/format.h>

#include "host/causes/cause.h"

namespace torchport::host::torch {

namespace {

std::optional<Diagnosis> broken(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->fault.empty()) return std::nullopt;
  return Diagnosis{"torch-damaged", fmt::format("torch in {}: {}", torch->root, torch->fault),
                   "install it again", kBuild};
}

const CauseRegistration kBroken(&broken);

}  // namespace

}  // namespace torchport::host::torch
