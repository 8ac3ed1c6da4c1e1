// Finds the oldest torch that a project requires, which decides how fixes are written.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

// The torch of the first of these folders of installed packages that has one, by its version.py,
// which is only read. For projects that require nothing: what they run with is the best guess. None
// without one.
[[nodiscard]] std::optional<TorchFloor> installed_torch(const base::FileSystem& fs,
                                                        const std::vector<std::string>& sites);

}  // namespace torchport::project
