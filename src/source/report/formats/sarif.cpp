// Writes SARIF 2.1.0, the exchange format of code-scanning services (OASIS, "Static Analysis
// Results Interchange Format Version 2.1.0").
#include <map>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "source/report/report.h"
#include "source/rules/registry.h"

namespace torchport::report::sarif {

namespace {

using Json = nlohmann::ordered_json;

// Writes a path as a URI reference (RFC 3986): all characters that are not unreserved are escaped.
std::string uri(std::string_view path) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string result;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += '%';
      result += kHex[byte >> 4U];
      result += kHex[byte & 0xFU];
    }
  }
  return result;
}

// The rule's page without its cases, which are tests.
std::string_view help_of(const rules::RuleInfo& info) {
  const std::string_view page = rules::page_of(info);
  return base::trim(page.substr(0, page.find("## Cases")));
}

Json rule_entry(const rules::RuleInfo& info) {
  return {{"id", info.code},
          {"name", info.name},
          {"shortDescription", {{"text", info.summary}}},
          {"help", {{"text", help_of(info)}, {"markdown", help_of(info)}}},
          {"defaultConfiguration", {{"level", project::severity_name(info.severity)}}},
          {"properties", {{"tags", {info.family}}}}};
}

Json region_of(const project::Diagnostic& d) {
  return {{"startLine", d.line},
          {"startColumn", d.column},
          {"endLine", d.end_line},
          {"endColumn", d.end_column}};
}

Json region_of(const project::TextEdit& edit) {
  return {{"startLine", edit.line},
          {"startColumn", edit.column},
          {"endLine", edit.end_line},
          {"endColumn", edit.end_column}};
}

// Only a safe fix, because whoever reads the report may apply it without asking.
Json fixes_of(const project::Diagnostic& d) {
  Json fixes = Json::array();
  if (d.applicability != edit::Applicability::kSafe || d.fix_edits.empty()) return fixes;
  Json replacements = Json::array();
  for (const project::TextEdit& edit : d.fix_edits) {
    replacements.push_back(
        {{"deletedRegion", region_of(edit)}, {"insertedContent", {{"text", edit.text}}}});
  }
  fixes.push_back({{"description", {{"text", d.fix_title}}},
                   {"artifactChanges",
                    {{{"artifactLocation", {{"uri", uri(d.path)}}},
                      {"replacements", std::move(replacements)}}}}});
  return fixes;
}

Json result_of(const project::Diagnostic& d, std::size_t rule_index) {
  std::string text = d.message;
  if (d.has_fix) text += " Fix: " + d.fix_title + ".";
  Json result = {{"ruleId", d.code},
                 {"ruleIndex", rule_index},
                 {"level", project::severity_name(d.severity)},
                 {"message", {{"text", text}}},
                 {"locations",
                  {{{"physicalLocation",
                     {{"artifactLocation", {{"uri", uri(d.path)}}}, {"region", region_of(d)}}}}}}};
  if (Json fixes = fixes_of(d); !fixes.empty()) result["fixes"] = std::move(fixes);
  return result;
}

std::string render(const Input& input) {
  Json rules = Json::array();
  std::map<std::string_view, std::size_t> index;
  for (const rules::Rule& rule : rules::all_rules()) {
    index[rule.info.code] = rules.size();
    rules.push_back(rule_entry(rule.info));
  }
  Json results = Json::array();
  for (const auto& d : input.report.diagnostics) results.push_back(result_of(d, index.at(d.code)));
  Json notices = Json::array();
  for (const auto& p : input.report.problems) {
    Json location = {{"artifactLocation", {{"uri", uri(p.path)}}}};
    if (p.line > 0) location["region"] = {{"startLine", p.line}};
    notices.push_back({{"level", "warning"},
                       {"message", {{"text", p.message}}},
                       {"locations", {{{"physicalLocation", location}}}}});
  }
  Json run;
  run["tool"]["driver"] = {
      {"name", "torchport"}, {"semanticVersion", input.version}, {"rules", std::move(rules)}};
  run["invocations"] = {{{"executionSuccessful", !input.report.cancelled},
                         {"toolExecutionNotifications", std::move(notices)}}};
  if (!input.since.empty())
    run["properties"] = {{"diffBase", input.since}, {"findingsOutside", input.outside}};
  run["newlineSequences"] = {"\r\n", "\n", "\r"};
  run["columnKind"] = "unicodeCodePoints";
  run["results"] = std::move(results);
  Json document;
  document["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  document["version"] = "2.1.0";
  document["runs"] = Json::array({std::move(run)});
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const FormatRegistration kRegistered{{"sarif", "SARIF 2.1.0 for code-scanning services", &render}};

}  // namespace

}  // namespace torchport::report::sarif
