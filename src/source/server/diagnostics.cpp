#include "source/server/diagnostics.h"

#include <fmt/format.h>

namespace torchport::server {

Json diagnostic_json(const rules::Finding& finding, const base::LineIndex& lines, base::Span span,
                     Encoding encoding) {
  constexpr int kError = 1;
  constexpr int kWarning = 2;
  const rules::RuleInfo& rule = *finding.rule;
  return {{"range", range_json(lines, span, encoding)},
          {"severity", rule.severity == rules::Severity::kError ? kError : kWarning},
          {"code", rule.code},
          {"source", "torchport"},
          {"message", fmt::format("{} [{}]", finding.message, rule.name)}};
}

std::vector<Json> diagnostics_json(const Analysis& analysis, Encoding encoding) {
  std::vector<Json> parts(analysis.source().parts.size(), Json::array());
  if (analysis.examined() == nullptr || parts.empty()) return parts;
  for (const rules::Finding& finding : analysis.examined()->findings) {
    const PartSpan place = analysis.place(finding.span);
    parts[place.part].push_back(
        diagnostic_json(finding, analysis.lines(place.part), place.span, encoding));
  }
  return parts;
}

}  // namespace torchport::server
