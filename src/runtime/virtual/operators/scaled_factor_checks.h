// What _scaled_mm_v2 refuses of the factors of a recipe.
#pragma once

#include "devices/profile.h"
#include "runtime/virtual/operators/scaled_recipes.h"

namespace torchport::vdev {

// Raises what a device of this profile raises for the factors of a call of _scaled_mm_v2 with these
// scalings. `cuda` is the version of CUDA, as 12090.
void check_factors(const ScaledCall& call, const Scalings& scalings,
                   const devices::Profile& profile, long cuda);

}  // namespace torchport::vdev
