// Runs a set of rules on one file. All functions are thread safe for different files.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "base/thread_clock.h"
#include "source/rules/rule.h"

namespace torchport::rules {

// Which rules run; an empty list means all.
using Selection = std::vector<const Rule*>;

// A point in time at which the examination gives up. `passed` is set then, and there are no
// findings at all: how many were reached would differ from run to run.
struct Deadline {
  base::ThreadClock::time_point at;
  bool passed = false;
  // Another thread sets it when nobody wants the findings any more; it counts as passed then.
  const std::atomic<bool>* stop = nullptr;

  [[nodiscard]] bool is_over() const {
    return (stop != nullptr && stop->load(std::memory_order_relaxed)) ||
           base::ThreadClock::now() > at;
  }
};
// The parser's limits for a file of this name, reduced to the time that is left.
[[nodiscard]] syntax::ParseLimits parse_limits(std::string_view path, const Deadline* deadline);
// The findings in a parsed Python file, ordered by position, then code. A line with an ignore
// comment (`torchport: ignore`, or `torchport: ignore[CODE, ...]` for some codes) has none.
[[nodiscard]] std::vector<Finding> examine_python(const PythonContext& context,
                                                  const Selection& selection,
                                                  Deadline* deadline = nullptr);

// The findings in any other file.
[[nodiscard]] std::vector<Finding> examine_text(const TextContext& context,
                                                const Selection& selection);

// The kind of a file, judged by its name.
[[nodiscard]] FileKind kind_of_path(std::string_view path);

// A cheap test on the bytes. A file that fails it cannot have findings and is not parsed. Files
// that are not Python are short and always pass.
[[nodiscard]] bool may_matter(std::string_view path, std::string_view source);

}  // namespace torchport::rules
