// Asks git about a working tree: `fix` refuses to change files with uncommitted changes, and `ci`
// tells which files a checkout will not have.
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

// Whether git ignores a file of this folder, so that no checkout has it. False if git is not
// installed, does not answer, or tracks the file.
[[nodiscard]] bool is_ignored(const std::string& folder, const std::string& file);

}  // namespace torchport::cli
