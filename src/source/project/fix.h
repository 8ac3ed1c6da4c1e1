// Plans the fixes of a project: what would change, file by file. Nothing is written here
// (project/undo.h writes), so that `--diff` and the real run share this code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "source/project/check.h"
#include "source/project/undo.h"
#include "source/rules/converge.h"

namespace torchport::project {

struct FixPlan {
  std::vector<Change> changes;
  std::vector<Diagnostic> left;  // findings in the new text
  std::vector<base::Error> problems;
  std::size_t files = 0;
};

// Computes the fixed text of each file. Files that do not parse, that are links, or whose fixed
// text would not parse are left alone and reported as problems. Fixes up to `tier` are applied.
[[nodiscard]] FixPlan plan_fixes(const base::FileSystem& fs, const std::vector<std::string>& files,
                                 const CheckOptions& options, edit::Applicability tier);

// Fixes one file's bytes up to `tier`, until nothing is left to fix (rules/converge.h). Thread
// safe.
[[nodiscard]] base::Result<rules::Converged> converge_source(const std::string& path,
                                                             const std::string& source,
                                                             const CheckOptions& options,
                                                             edit::Applicability tier,
                                                             rules::Deadline& deadline);

// The edits that make one text of the other, by lines; each is shortened to what differs in it.
[[nodiscard]] std::vector<edit::Edit> line_edits(const std::string& before,
                                                 const std::string& after);

// A unified diff of one change with three lines of context, as `patch` reads it.
[[nodiscard]] std::string unified_diff(const Change& change);

}  // namespace torchport::project
