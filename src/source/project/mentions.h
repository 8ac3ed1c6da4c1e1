// Finds which functions the files mention of which nothing else is known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "source/project/cache.h"
#include "source/project/check.h"

namespace torchport::project {

// A file that was not parsed.
struct UnreadFile {
  std::string path;
  std::optional<CacheKey> content;  // of its bytes, if they were read
};

// Adds those of the `wanted` names that a file contains. It may call functions with these names.
void find_mentioned(const base::FileSystem& fs, const std::string& path,
                    const base::TextSet& wanted, base::TextSet& found);

// Those of the `wanted` names that any of the files contains. Answers are kept in the cache, so
// that after a change to one file only some are read again.
[[nodiscard]] std::vector<std::string> find_all_mentioned(const base::FileSystem& fs,
                                                          const std::vector<UnreadFile>& files,
                                                          std::vector<std::string> wanted,
                                                          const CheckOptions& options);

}  // namespace torchport::project
