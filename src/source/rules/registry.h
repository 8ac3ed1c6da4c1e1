// Lists all rules. They are found by their registrations and ordered by code, so that no file has
// to name them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

// A rule's page as it is compiled in: its folder under src/source/rules and its text.
struct EmbeddedPage {
  std::string_view folder;
  std::string_view text;
};

[[nodiscard]] const std::vector<EmbeddedPage>& embedded_pages();

// All rules, sorted by code. They register before main() runs; from then on this is constant and
// thread safe.
[[nodiscard]] const std::vector<Rule>& all_rules();
// The rule with this code ("TP101") or name ("cuda-call"), in capitals or not; null if there is
// none.
[[nodiscard]] const Rule* find_rule(std::string_view code_or_name);
// The page of a rule, which is the one whose folder ends in the rule's name with '_' for '-'. Empty
// if it has none.
[[nodiscard]] std::string_view page_of(const RuleInfo& rule);
// What to tell a user who wrote the name of no rule: with the closest code or name, if one is
// close.
[[nodiscard]] std::string no_such_rule(std::string_view written);

}  // namespace torchport::rules
