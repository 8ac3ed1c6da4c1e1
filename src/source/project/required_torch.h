// Finds the oldest torch that a project requires, which decides how fixes are written.
#pragma once

#include <optional>
#include <string>

#include "base/file_system.h"
#include "source/edit/settings.h"

namespace torchport::project {

struct TorchFloor {
  edit::TorchVersion version;
  std::string from;  // "requirements.txt:2"
};

// The oldest torch that the requirements of the project in `root` allow: requirements.txt (and .in,
// with the files that it includes), `dependencies` of pyproject.toml, also poetry's, and
// `install_requires` of setup.py and setup.cfg. None if none of them has a lower bound. Comments,
// optional extras, groups for developers and what a build needs require nothing. Nothing is run.
[[nodiscard]] std::optional<TorchFloor> required_torch(const base::FileSystem& fs,
                                                       const std::string& root);

}  // namespace torchport::project
