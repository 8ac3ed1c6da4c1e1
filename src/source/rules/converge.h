// Fixing one file until nothing is left to fix.
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
  std::string text;                         // the new text; the old one when nothing was applied
  std::map<std::string_view, int> applied;  // rule code -> fixes applied
  int passes = 0;
  bool reverted = false;         // the result did not parse: text is the old one
  std::string_view reverted_by;  // the rule applied in the pass that broke it, when there was one
  std::optional<std::vector<Finding>>
      left;  // what the rules say of `text`, where the last pass found out
};

// Applies fixes up to and including `tier` and checks again, until a pass has
// nothing to apply or ten passes are over. A text that does not parse comes
// back untouched; so does one that a fix broke (reverted is set). Fails with
// kBudget when the deadline passes, and what the parser fails with.
[[nodiscard]] base::Result<Converged> converge_python(
    std::string_view path, const std::string& source, const Selection& selection,
    const edit::Settings& settings, Applicability tier, Deadline* deadline = nullptr);

// The same for a file of another kind.
[[nodiscard]] Converged converge_text(std::string_view path, FileKind kind,
                                      const std::string& source, const Selection& selection,
                                      const edit::Settings& settings, Applicability tier);

}  // namespace torchport::rules
