// Writes JSON for programs: the field names are stable, lines and columns are one-based.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "source/report/report.h"

namespace torchport::report::json {

namespace {

using Json = nlohmann::ordered_json;

Json finding(const project::Diagnostic& d) {
  Json fix = nullptr;
  if (d.has_fix)
    fix = {{"applicability", edit::applicability_name(d.applicability)}, {"title", d.fix_title}};
  return {{"code", d.code},
          {"name", d.name},
          {"family", d.family},
          {"severity", project::severity_name(d.severity)},
          {"path", d.path},
          {"line", d.line},
          {"column", d.column},
          {"end_line", d.end_line},
          {"end_column", d.end_column},
          {"message", d.message},
          {"fix", fix}};
}

std::string render(const Input& input) {
  Json document;
  document["version"] = input.version;
  document["findings"] = Json::array();
  for (const auto& d : input.report.diagnostics) document["findings"].push_back(finding(d));
  document["problems"] = Json::array();
  for (const auto& p : input.report.problems) {
    document["problems"].push_back({{"path", p.path}, {"line", p.line}, {"message", p.message}});
  }
  Json by_code = Json::object();
  for (const auto& [code, n] : count_by_code(input.report)) by_code[std::string(code)] = n;
  const edit::Settings& settings = input.options.settings;
  const Json min_torch = {
      {"version", fmt::format("{}.{}", settings.min_torch.major, settings.min_torch.minor)},
      {"from", input.options.min_torch_from.empty() ? "default" : input.options.min_torch_from}};
  Json diff = nullptr;
  if (!input.since.empty()) diff = {{"base", input.since}, {"outside", input.outside}};
  document["summary"] = {{"files", input.report.files},
                         {"bytes", input.report.bytes},
                         {"findings", input.report.diagnostics.size()},
                         {"by_code", by_code},
                         {"baseline", input.known},
                         {"min_torch", min_torch},
                         {"diff", diff}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const FormatRegistration kRegistered{{"json", "one JSON document", &render}};

}  // namespace

}  // namespace torchport::report::json
