// Asks git about a working tree, so that `fix` can refuse to change files with uncommitted changes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace torchport::cli {

// The paths under `folder` that have changed for git, and those of `files` that it does not track.
// Empty if git is not installed or this is not a repository. Fails with kBudget if git does not
// answer; the message names the command.
[[nodiscard]] base::Result<std::vector<std::string>> dirty_files(
    const std::string& folder, const std::vector<std::string>& files);

}  // namespace torchport::cli
