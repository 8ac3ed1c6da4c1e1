#include "source/project/diagnostic.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "source/rules/registry.h"
#include "source/syntax/encoding.h"

namespace torchport::project {

namespace {

constexpr std::size_t kMaxSourceLine = 400;

// The first kMaxSourceLine bytes, never half of a UTF-8 sequence.
std::string shorten(std::string_view line) {
  if (line.size() <= kMaxSourceLine) return std::string(line);
  std::size_t end = kMaxSourceLine;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
  return std::string(line.substr(0, end));
}

}  // namespace

Diagnostic make_diagnostic(const rules::Finding& finding, std::string_view path,
                           const base::LineIndex& lines) {
  Diagnostic result;
  result.code = finding.rule->code;
  result.name = finding.rule->name;
  result.family = finding.rule->family;
  result.severity = finding.rule->severity;
  result.path = path;
  const base::LineColumn start = lines.at(finding.span.start);
  const base::LineColumn end = lines.at(finding.span.end);
  result.line = start.line;
  result.column = start.column;
  result.end_line = end.line;
  result.end_column = end.column;
  result.message = finding.message;
  result.source_line = shorten(lines.line(start.line));
  result.unless = finding.unless;
  if (!finding.fix.empty()) {
    const edit::Fix& fix = finding.fix.front();
    result.has_fix = true;
    result.applicability = fix.edits.empty() ? edit::Applicability::kDisplay : fix.applicability;
    result.fix_title = fix.title;
    result.lowered = finding.lowered;
  }
  return result;
}

void lower_fix(Diagnostic& diagnostic, const rules::Lowering& lowering) {
  if (lowering.to <= diagnostic.applicability) return;
  diagnostic.applicability = lowering.to;
  if (!lowering.title.empty()) diagnostic.fix_title = lowering.title;
  if (lowering.to == edit::Applicability::kDisplay) diagnostic.fix_edits.clear();
}

std::vector<TextEdit> edits_alone(const edit::Fix& fix, const edit::DeviceSource* devices,
                                  const base::LineIndex& lines) {
  std::vector<edit::Edit> edits;
  if (devices != nullptr && !fix.edits.empty())
    edits = devices->edits_for(fix.needs, devices->trial_of({&fix}));
  edits.insert(edits.end(), fix.edits.begin(), fix.edits.end());
  edit::sort_edits(edits);
  std::vector<TextEdit> result;
  std::uint32_t reached = 0;
  for (edit::Edit& edit : edits) {
    std::size_t bad = 0;
    if (edit.span.start < reached || !syntax::is_valid_utf8(edit.text, bad)) return {};
    reached = edit.span.end;
    const base::LineColumn start = lines.at(edit.span.start);
    const base::LineColumn end = lines.at(edit.span.end);
    result.push_back({start.line, start.column, end.line, end.column, std::move(edit.text)});
  }
  return result;
}

std::string_view severity_name(rules::Severity severity) {
  return severity == rules::Severity::kError ? "error" : "warning";
}

std::string explanation(const rules::RuleInfo& rule) {
  return fmt::format("# {} {}\n\n{}. Family {}, {}.\n\n{}", rule.code, rule.name, rule.summary,
                     rule.family, severity_name(rule.severity), rules::page_of(rule));
}

namespace {

nlohmann::json packed(const flow::Condition& condition) {
  return {static_cast<int>(condition.kind), condition.function, condition.parameters};
}

flow::Condition unpacked(const nlohmann::json& condition) {
  return {static_cast<flow::Condition::Kind>(condition.at(0).get<int>()),
          condition.at(1).get<std::string>(), condition.at(2).get<std::vector<std::string>>()};
}

}  // namespace

std::string pack(const std::vector<Diagnostic>& diagnostics) {
  if (diagnostics.empty()) return {};
  nlohmann::json list = nlohmann::json::array();
  for (const Diagnostic& d : diagnostics) {
    nlohmann::json unless = nlohmann::json::array();
    for (const flow::Condition& condition : d.unless) unless.push_back(packed(condition));
    nlohmann::json lowered = nlohmann::json::array();
    for (const rules::Lowering& lowering : d.lowered)
      lowered.push_back({packed(lowering.when), static_cast<int>(lowering.to), lowering.title});
    nlohmann::json edits = nlohmann::json::array();
    for (const TextEdit& edit : d.fix_edits)
      edits.push_back({edit.line, edit.column, edit.end_line, edit.end_column, edit.text});
    list.push_back({d.code, d.line, d.column, d.end_line, d.end_column, d.message,
                    nlohmann::json::binary({d.source_line.begin(), d.source_line.end()}), d.has_fix,
                    static_cast<int>(d.applicability), d.fix_title, std::move(edits),
                    std::move(unless), std::move(lowered)});
  }
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(list);
  return {bytes.begin(), bytes.end()};
}

bool unpack(std::string_view packed, std::string_view path, std::vector<Diagnostic>& diagnostics) {
  diagnostics.clear();
  if (packed.empty()) return true;
  try {
    for (const auto& row : nlohmann::json::from_cbor(packed)) {
      Diagnostic d;
      d.code = row.at(0).get<std::string>();
      const rules::Rule* rule = rules::find_rule(d.code);
      if (rule == nullptr) return false;
      d.name = rule->info.name;
      d.family = rule->info.family;
      d.severity = rule->info.severity;
      d.path = path;
      d.line = row.at(1);
      d.column = row.at(2);
      d.end_line = row.at(3);
      d.end_column = row.at(4);
      d.message = row.at(5).get<std::string>();
      const auto& line = row.at(6).get_binary();
      d.source_line.assign(line.begin(), line.end());
      d.has_fix = row.at(7);
      d.applicability = static_cast<edit::Applicability>(row.at(8).get<int>());
      d.fix_title = row.at(9).get<std::string>();
      for (const auto& edit : row.at(10)) {
        d.fix_edits.push_back(
            {edit.at(0), edit.at(1), edit.at(2), edit.at(3), edit.at(4).get<std::string>()});
      }
      for (const auto& condition : row.at(11)) d.unless.push_back(unpacked(condition));
      for (const auto& lowering : row.at(12))
        d.lowered.push_back({unpacked(lowering.at(0)),
                             static_cast<edit::Applicability>(lowering.at(1).get<int>()),
                             lowering.at(2).get<std::string>()});
      diagnostics.push_back(std::move(d));
    }
  } catch (const nlohmann::json::exception&) {
    diagnostics.clear();
    return false;
  }
  return true;
}

}  // namespace torchport::project
