#include "runtime/virtual/core/build_facts.h"

#include <algorithm>
#include <array>

namespace torchport::vdev {

namespace {

// The first build is the default one.
constexpr std::array kBuilds{
#include "cuda_builds.inc"
};

}  // namespace

const CudaBuild& cuda_build_for(int major, int minor) {
  const auto* found = std::find_if(kBuilds.begin(), kBuilds.end(), [&](const CudaBuild& build) {
    return build.oldest <= 10 * major + minor;
  });
  return found == kBuilds.end() ? kBuilds.front() : *found;
}

}  // namespace torchport::vdev
