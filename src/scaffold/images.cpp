#include "scaffold/images.h"

#include <fmt/format.h>

namespace torchport::scaffold {

Images images_on_debian(const Project& project, const Target& target, std::string_view debian) {
  Images images;
  images.runtime = fmt::format("python:{}-slim-{}", target.python, debian);
  // Only the complete image has the compilers; a pure Python project needs none.
  images.build =
      project.extension ? fmt::format("python:{}-{}", target.python, debian) : images.runtime;
  return images;
}

}  // namespace torchport::scaffold
