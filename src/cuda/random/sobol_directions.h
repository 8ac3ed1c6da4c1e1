// Directions of Sobol's sequences by S. Joe and F. Y. Kuo, "Constructing Sobol sequences with
// better two-dimensional projections" (2008), criterion D(6), file new-joe-kuo-6. Primitive
// polynomials are enumerated here, in the order of that file; of its first numbers the first
// dimensions are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace torchport::cuda_random {

// How many dimensions there are numbers for.
std::size_t sobol_dimensions();

// Those of all dimensions, one after the other: 32 or 64 for each, that of the highest bit first.
const std::vector<std::uint32_t>& sobol_directions_32();
const std::vector<std::uint64_t>& sobol_directions_64();

}  // namespace torchport::cuda_random
