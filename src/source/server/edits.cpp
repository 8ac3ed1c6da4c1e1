#include "source/server/edits.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/edit/apply.h"
#include "source/project/fix.h"

namespace torchport::server {

namespace {

bool is_python(const Analysis& analysis) {
  return analysis.examined()->tree != nullptr;
}

bool is_valid_python(const std::string& code, std::string_view path) {
  const auto tree = syntax::Tree::parse(code, rules::parse_limits(path, nullptr));
  return tree && !(*tree)->has_syntax_error();
}

// Where in the line of `offset` a comment can be added: its end without white space. None if the
// line goes on after it, or ends inside of a string.
std::optional<std::uint32_t> comment_place(const Analysis& analysis, std::uint32_t offset) {
  const project::Examination& examined = *analysis.examined();
  const base::LineIndex lines(examined.code());
  const std::uint32_t number = lines.at(offset).line;
  std::string_view line = lines.line(number);
  if (line.ends_with('\\')) return std::nullopt;
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  const auto end = lines.line_start(number) + static_cast<std::uint32_t>(line.size());
  if (examined.model) {
    for (const rules::Node string : examined.model->nodes(rules::Kind::kString))
      if (string.start() < end && end < string.end()) return std::nullopt;
  }
  return end;
}

}  // namespace

bool may_edit(const Analysis& analysis) {
  return analysis.examined() != nullptr &&
         (!is_python(analysis) || !analysis.examined()->tree->has_syntax_error());
}

std::optional<Json> workspace_edit(const Session& session, const Analysis& analysis,
                                   const std::vector<std::string>& parts) {
  Json documents = Json::array();
  Json changes = Json::object();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Snapshot& part = *analysis.source().parts[i];
    Json edits = Json::array();
    for (const edit::Edit& change : project::line_edits(part.text, parts[i]))
      edits.push_back(
          {{"range", range_json(analysis.lines(i), change.span, session.abilities.encoding)},
           {"newText", change.text}});
    if (edits.empty()) continue;
    changes[part.uri] = edits;
    documents.push_back({{"textDocument", {{"uri", part.uri}, {"version", part.version}}},
                         {"edits", std::move(edits)}});
  }
  if (documents.empty()) return std::nullopt;
  if (session.abilities.document_changes) return Json{{"documentChanges", std::move(documents)}};
  return Json{{"changes", std::move(changes)}};
}

std::vector<std::string> parts_after_fix(const Analysis& analysis, const rules::Finding& finding) {
  if (!may_edit(analysis) || finding.fix.empty()) return {};
  const project::Examination& examined = *analysis.examined();
  const std::vector<const edit::Fix*> one{&finding.fix.front()};
  const edit::Applied applied = examined.devices
                                    ? edit::apply_fixes(examined.code(), one, *examined.devices)
                                    : edit::apply_fixes(examined.code(), one);
  if (applied.used.empty()) return {};
  if (is_python(analysis) && !is_valid_python(applied.text, examined.path)) return {};
  return analysis.parts_of_code(applied.text);
}

std::vector<std::string> parts_after_all(const Analysis& analysis, const Job::Stop& stop) {
  if (!may_edit(analysis)) return {};
  rules::Deadline deadline = project::file_deadline();
  deadline.stop = &stop;
  const auto fixed =
      project::converge_source(analysis.plan().path, analysis.file_text(), analysis.plan().options,
                               edit::Applicability::kSafe, deadline);
  if (!fixed || fixed->reverted) return {};
  return analysis.parts_of_file(fixed->text);
}

std::vector<std::string> parts_with_ignore(const Analysis& analysis,
                                           const rules::Finding& finding) {
  using rules::FileKind;
  if (!may_edit(analysis)) return {};
  const FileKind kind = analysis.examined()->kind;
  // In a Dockerfile or a TOML string, a comment after the code would be a part of it.
  const bool takes_comments =
      is_python(analysis) || kind == FileKind::kRequirements || kind == FileKind::kCMake;
  if (!takes_comments) return {};
  auto place = comment_place(analysis, finding.span.end);
  if (!place) place = comment_place(analysis, finding.span.start);
  if (!place) return {};
  std::string code = analysis.examined()->code();
  constexpr std::string_view kKnown = "# torchport: ignore[";
  const std::size_t line_start = code.find_last_of('\n', *place == 0 ? 0 : *place - 1) + 1;
  const std::size_t known = std::string_view(code).substr(0, *place).rfind(kKnown);
  if (known != std::string::npos && known >= line_start && code[*place - 1] == ']')
    code.insert(*place - 1, fmt::format(", {}", finding.rule->code));
  else
    code.insert(*place, fmt::format("  # torchport: ignore[{}]", finding.rule->code));
  return analysis.parts_of_code(code);
}

}  // namespace torchport::server
