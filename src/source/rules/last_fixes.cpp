#include "source/rules/last_fixes.h"

#include <algorithm>

#include "source/rules/registry.h"

namespace torchport::rules {

namespace {

bool stops_without_cuda(const RuleInfo& rule) {
  return rule.void_with_cuda && rule.severity == Severity::kError && !rule.hygiene && !rule.strict;
}

bool comes_last(const Finding& finding) {
  return std::any_of(finding.fix.begin(), finding.fix.end(),
                     [](const Fix& fix) { return fix.comes_last; });
}

bool finds_all(const Selection& selection) {
  if (selection.empty()) return true;
  const auto& rules = all_rules();
  return std::all_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return !stops_without_cuda(rule.info) ||
           std::find(selection.begin(), selection.end(), &rule) != selection.end();
  });
}

}  // namespace

void hold_back_last_fixes(const Selection& selection, std::vector<Finding>& findings) {
  if (std::none_of(findings.begin(), findings.end(), comes_last)) return;
  const bool is_time = finds_all(selection) &&
                       std::all_of(findings.begin(), findings.end(), [](const Finding& finding) {
                         return comes_last(finding) || !stops_without_cuda(*finding.rule);
                       });
  if (is_time) return;
  for (Finding& finding : findings) {
    for (Fix& fix : finding.fix) {
      if (fix.comes_last)
        fix = {Applicability::kDisplay, "fix the rest of the file first; then this can go", {}, {}};
    }
  }
}

}  // namespace torchport::rules
