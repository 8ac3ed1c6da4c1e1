// Asks git about a working tree: `fix` refuses to change files with uncommitted changes, `check
// --diff` reports what a change touches, and `ci` tells which files a checkout will not have.
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

// What has changed since `base`: since the commit where this history left it (`git diff BASE...`),
// with the uncommitted changes and the untracked files that git does not ignore.
struct ChangeSince {
  std::string top;    // of the repository, a real path
  std::string patch;  // without context, with the prefixes a/ and b/
  std::string added;  // untracked files relative to `top`, each with a NUL behind it
};
// `folder` lies in the repository. Fails with kUsage if git is not installed, there is no
// repository, `base` is no commit or this clone does not have it; the message says what to do.
// Fails with kBudget if git does not answer.
[[nodiscard]] base::Result<ChangeSince> change_since(const std::string& folder,
                                                     const std::string& base);

}  // namespace torchport::cli
