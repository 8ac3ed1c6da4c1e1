// A ratchet: findings that were there yesterday do not count, new ones do.
#pragma once

#include <string>

#include "base/file_system.h"
#include "source/project/check.h"

namespace torchport::project {

struct BaselineResult {
  std::size_t known = 0;  // findings taken out of the report, or written
  bool written = false;   // the file was not there and has been made
};

// With no file at `path`, writes the report's findings there and empties the
// report. Otherwise takes the known ones out of the report, and drops from the
// file what is no longer found, so that it can only shrink. A finding is known
// by path, code and the text of its line, not by its number: code may move.
// Fails with kConfig when the file is no baseline.
[[nodiscard]] base::Result<BaselineResult> apply_baseline(base::FileSystem& fs,
                                                          const std::string& path,
                                                          const std::string& root, Report& report);

}  // namespace torchport::project
