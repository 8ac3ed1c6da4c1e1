// Box and Muller's method for floats: the radius and the angle of a point become two normal
// numbers. cuRAND's curand_normal4 does the same; a GPU takes the sine and the cosine from hardware
// whose last bits are not published, here they are rounded correctly but for rare ties.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchport::device {

// out[i] becomes the sine or, if `cosine`, the cosine of the angle that angles[i] stands for (from
// 0 to 2 pi), times the radius that radii[i] stands for. Thread safe.
void normal_floats(const std::uint32_t* radii, const std::uint32_t* angles, bool cosine,
                   std::size_t count, float* out);

}  // namespace torchport::device
