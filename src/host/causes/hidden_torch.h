// Tells a torch that hides a better one: Python imports the first that it finds, and folders of
// PYTHONPATH and of the user's site come before those of an environment.
#pragma once

#include "host/causes/cause.h"

namespace torchport::host {

// The machine without the torch that Python imports, so that the next one is imported.
[[nodiscard]] Facts without_first_torch(const Facts& facts);
// Says that the first torch hides the second one, and how to be rid of it. There must be two.
[[nodiscard]] Diagnosis hides_torch(const Facts& facts);

}  // namespace torchport::host
