// One file through a set of rules.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

// Which rules run; an empty list means all.
using Selection = std::vector<const Rule*>;

// Findings of a parsed Python file, ordered by position, then code. Lines with
// `# torchport: ignore` or `# torchport: ignore[CODE, ...]` are silent.
// With a deadline, gives up when it passes and says so in `passed`. There are no findings then:
// how many were reached would differ from run to run.
struct Deadline {
  std::chrono::steady_clock::time_point at;
  bool passed = false;
};
// The parser's own limits for a file of this name, or less where less time is left.
[[nodiscard]] syntax::ParseLimits parse_limits(std::string_view path, const Deadline* deadline);
[[nodiscard]] std::vector<Finding> examine_python(const PythonContext& context,
                                                  const Selection& selection,
                                                  Deadline* deadline = nullptr);

// Findings of any other file.
[[nodiscard]] std::vector<Finding> examine_text(const TextContext& context,
                                                const Selection& selection);

// What a path is to us, by its name.
[[nodiscard]] FileKind kind_of_path(std::string_view path);

// A cheap test on the bytes: a file that fails it cannot have findings, and
// need not be parsed. Files that are not Python are short, and always pass.
[[nodiscard]] bool may_matter(std::string_view path, std::string_view source);

}  // namespace torchport::rules
