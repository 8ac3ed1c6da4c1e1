// Makes the base images of device targets that use Python's own images.
#pragma once

#include <string_view>

#include "scaffold/target.h"

namespace torchport::scaffold {

// Debian 12. It has GCC 12, which every nvcc since 12.0 accepts.
inline constexpr std::string_view kBookworm = "bookworm";

// Python's images on this release of Debian.
[[nodiscard]] Images images_on_debian(const Project& project, const Target& target,
                                      std::string_view debian = kBookworm);

}  // namespace torchport::scaffold
