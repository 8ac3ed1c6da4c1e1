// Fixes one file until nothing is left to fix. One pass is not enough: fixes that overlap wait, and
// one fix can make another one possible.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "source/rules/examine.h"
#include "source/rules/rule.h"

namespace torchport::rules {

struct Converged {
  std::string text;                         // the new text, or the old one if nothing was applied
  std::map<std::string_view, int> applied;  // rule code -> fixes applied
  bool gives_device = false;                // the module got its device variable
  int passes = 0;
  bool reverted = false;         // some text did not parse, so `text` is one without that rule
  std::string_view reverted_by;  // the rule whose fix broke it
  // The rules whose fixes were left out, because of what the text would have had against it.
  std::vector<std::string_view> withheld;
  std::string harm;
  std::optional<std::vector<Finding>>
      left;  // the findings in `text`, if the last pass computed them
};

// Applies fixes up to and including `tier` and checks again, until a pass applies nothing or after
// ten passes. A text that does not parse is returned unchanged. The fixes of a rule that break the
// syntax are left out (`reverted` is set). Fixes that do harm together are left out (harm.h;
// `withheld` is set). Fails with kBudget when the deadline passes, and with the parser's errors.
[[nodiscard]] base::Result<Converged> converge_python(
    std::string_view path, const std::string& source, const Selection& selection,
    const edit::Settings& settings, Applicability tier, Deadline* deadline = nullptr,
    const flow::Summary* project = nullptr);

// Does the same for a file that is not Python.
[[nodiscard]] Converged converge_text(std::string_view path, FileKind kind,
                                      const std::string& source, const Selection& selection,
                                      const edit::Settings& settings, Applicability tier);

}  // namespace torchport::rules
