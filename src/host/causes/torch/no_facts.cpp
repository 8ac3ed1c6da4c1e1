// Finds a record without facts.
#include "host/causes/cause.h"

namespace torchport::host::torch {

namespace {

std::optional<Diagnosis> empty(const Facts& facts) {
  if (!(facts == Facts{})) return std::nullopt;
  return Diagnosis{"no-facts",
                   "this record contains no facts of a machine, so nothing is known of it",
                   "record the machine itself: torchport doctor --json > machine.json", kHardware};
}

const CauseRegistration kEmpty(&empty);

}  // namespace

}  // namespace torchport::host::torch
