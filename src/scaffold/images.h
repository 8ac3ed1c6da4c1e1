// The base images, each pinned to a release of its contents.
#pragma once

#include "base/result.h"
#include "scaffold/target.h"

namespace torchport::scaffold {

// kUsage where no pair of images fits the target: a Python that a distribution has not, a toolkit
// whose image is not known.
[[nodiscard]] base::Result<Images> choose_images(const Project& project, const Target& target);

}  // namespace torchport::scaffold
