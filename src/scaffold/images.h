// Chooses the base images, each pinned to a release of its contents.
#pragma once

#include "base/result.h"
#include "scaffold/target.h"

namespace torchport::scaffold {

// Fails with kUsage if no pair of images fits the target: the distribution does not have the
// Python, or no image with the toolkit is known.
[[nodiscard]] base::Result<Images> choose_images(const Project& project, const Target& target);

}  // namespace torchport::scaffold
