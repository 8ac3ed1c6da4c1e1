// Stores the findings of an old code base, so that only new ones are reported. The file can only
// shrink: a finding that was fixed and comes back is reported.
#pragma once

#include <string>

#include "base/file_system.h"
#include "source/project/check.h"

namespace torchport::project {

struct BaselineResult {
  std::size_t known = 0;  // number of findings that were removed from the report, or written
  bool written = false;   // the file did not exist and was written
};

// If there is no file at `path`, writes the report's findings to it and empties the report.
// Otherwise removes the known findings from the report, and removes from the file what is no longer
// found. A finding is identified by path, code and the text of its line. Its line number would not
// do, because code moves. Fails with kConfig if the file is not a baseline.
[[nodiscard]] base::Result<BaselineResult> apply_baseline(base::FileSystem& fs,
                                                          const std::string& path,
                                                          const std::string& root,
                                                          CheckReport& report);

}  // namespace torchport::project
