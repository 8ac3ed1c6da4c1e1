// What git says about a working tree.
#pragma once

#include <string>
#include <vector>

namespace torchport::cli {

// The paths under `folder` that git calls changed, and of `files` the ones it
// does not track; empty when git is not installed or this is no repository.
[[nodiscard]] std::vector<std::string> dirty_files(const std::string& folder,
                                                   const std::vector<std::string>& files);

}  // namespace torchport::cli
