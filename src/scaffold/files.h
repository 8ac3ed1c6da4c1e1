// Writes files for users: each one completely, and never over an existing file unless `force` is
// set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace torchport::scaffold {

struct File {
  std::string path;
  std::string content;
};

enum class Written : std::uint8_t { kNew, kReplaced, kSame };
// "wrote", "replaced", "unchanged".
[[nodiscard]] std::string_view to_text(Written written);

// Writes all files or none. If one exists with another content and `force` is not set, nothing is
// written, and the error (kUsage) names each such file. Creates the folders.
[[nodiscard]] base::Result<std::vector<Written>> write_files(base::FileSystem& fs,
                                                             const std::vector<File>& files,
                                                             bool force);

}  // namespace torchport::scaffold
