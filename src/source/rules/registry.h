// All rules, found by their registrations, ordered by code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

// A page as compiled in: the folder under src/rules and its text.
struct EmbeddedPage {
  std::string_view folder;
  std::string_view text;
};

[[nodiscard]] const std::vector<EmbeddedPage>& embedded_pages();

// Sorted by code. Registration happens before main; afterwards this is
// read-only and safe from any thread.
[[nodiscard]] const std::vector<Rule>& all_rules();
// By code ("TP101") or name ("cuda-call"); null when there is none.
[[nodiscard]] const Rule* find_rule(std::string_view code_or_name);
// The page of a rule: the embedded page whose folder ends in the rule's name
// with '_' for '-'. Empty when it has none.
[[nodiscard]] std::string_view page_of(const RuleInfo& rule);
// The code or name closest to what was written, for "did you mean".
[[nodiscard]] std::string_view nearest_rule(std::string_view written);

}  // namespace torchport::rules
