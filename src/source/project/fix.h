// Plans the fixes of a project: what would change, file by file. Nothing is written here
// (project/undo.h writes), so that `--diff` and the real run share this code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "source/project/check.h"
#include "source/project/undo.h"

namespace torchport::project {

struct FixPlan {
  std::vector<Change> changes;
  std::map<std::string, std::size_t> fixed;  // rule code -> fixes applied
  std::vector<Diagnostic> left;              // findings in the new text
  std::vector<base::Error> problems;
  std::size_t files = 0;
};

// Computes the fixed text of each file. Files that do not parse, that are links, or whose fixed
// text would not parse are left alone and reported as problems. Fixes up to `tier` are applied.
[[nodiscard]] FixPlan plan_fixes(const base::FileSystem& fs, const std::vector<std::string>& files,
                                 const CheckOptions& options, edit::Applicability tier);

// A unified diff of one change with three lines of context, as `patch` reads it.
[[nodiscard]] std::string unified_diff(const Change& change);

}  // namespace torchport::project
