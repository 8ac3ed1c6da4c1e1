// `textDocument/codeAction`: fixes of the findings in a range, a comment that silences one, and all
// safe fixes of the file.
#include <algorithm>

#include <fmt/format.h>

#include "source/server/diagnostics.h"
#include "source/server/edits.h"
#include "source/server/method.h"

namespace torchport::server::code_action {

namespace {

// Each fix is applied and parsed, and nobody reads a menu of hundreds.
constexpr int kMaxFindingsOfMenu = 20;
constexpr const char* kFixAll = "source.fixAll.torchport";

// Which kinds of action the client wants: a kind stands for those below it, too.
struct Wanted {
  bool quick_fixes = true;
  bool fix_all = true;
  bool only_named = false;  // it asked for certain kinds, so that the edit is needed now
};

Wanted read_wanted(const Json& params) {
  Wanted wanted;
  const Json context = params.value("context", Json::object());
  const auto only = context.find("only");
  if (only == context.end() || !only->is_array()) return wanted;
  wanted = {false, false, true};
  for (const Json& item : *only) {
    const auto kind = item.get<std::string>();
    wanted.quick_fixes |= kind == "quickfix" || kind.empty();
    wanted.fix_all |=
        kind.empty() || kind == kFixAll || kind == "source" || kind == "source.fixAll";
  }
  return wanted;
}

struct Request {
  Session& session;
  const Analysis& analysis;
  std::size_t part;
};

void add_quick_fixes(const Request& request, const rules::Finding& finding, const Json& diagnostic,
                     Json& actions) {
  const auto add = [&](std::string title, bool preferred, const std::vector<std::string>& parts) {
    auto edit = workspace_edit(request.session, request.analysis, parts);
    if (!edit) return;
    actions.push_back({{"title", std::move(title)},
                       {"kind", "quickfix"},
                       {"diagnostics", Json::array({diagnostic})},
                       {"isPreferred", preferred},
                       {"edit", std::move(*edit)}});
  };
  const bool unsafe_fixes = request.session.workspace.client_settings().unsafe_fixes;
  if (!finding.fix.empty()) {
    const edit::Fix& fix = finding.fix.front();
    const bool safe = fix.applicability == edit::Applicability::kSafe;
    if (safe || (unsafe_fixes && fix.applicability == edit::Applicability::kUnsafe))
      add(fmt::format("torchport: {}{}", fix.title, safe ? "" : " (unsafe: review it)"), safe,
          parts_after_fix(request.analysis, finding));
  }
  add(fmt::format("torchport: ignore {} here", finding.rule->code), false,
      parts_with_ignore(request.analysis, finding));
}

void add_fix_all(const Request& request, const Wanted& wanted, const Job::Stop& stop,
                 Json& actions) {
  const auto& findings = request.analysis.examined()->findings;
  const bool any_safe = std::any_of(findings.begin(), findings.end(), [](const auto& finding) {
    return !finding.fix.empty() &&
           finding.fix.front().applicability == edit::Applicability::kSafe &&
           !finding.fix.front().edits.empty();
  });
  if (!any_safe) return;
  Json action{{"title", "torchport: apply all safe fixes"}, {"kind", kFixAll}};
  if (request.session.abilities.resolves_edits && !wanted.only_named) {
    action["data"] = {{"uri", request.analysis.source().uri}};
  } else {
    auto edit =
        workspace_edit(request.session, request.analysis, parts_after_all(request.analysis, stop));
    if (!edit) return;
    action["edit"] = std::move(*edit);
  }
  actions.push_back(std::move(action));
}

Answer handle(Session& session, const Call& call) {
  Json actions = Json::array();
  const auto uri = call.params.at("textDocument").at("uri").get<std::string>();
  const Json& range = call.params.at("range");
  const Position first = read_position(range.at("start"));
  const Position last = read_position(range.at("end"));
  const Wanted wanted = read_wanted(call.params);
  if (!call.source) return actions;
  const auto analysis = session.analysis_of(*call.source, call.stop);
  if (!analysis) return tl::unexpected<Failure>({RpcError::kCancelled, "cancelled"});
  const auto part = analysis->part_named(uri);
  if (!part || !may_edit(*analysis)) return actions;
  const Encoding encoding = session.abilities.encoding;
  const base::LineIndex& lines = analysis->lines(*part);
  const std::uint32_t from = offset_at(lines, first, encoding);
  const std::uint32_t to = offset_at(lines, last, encoding);
  const Request request{session, *analysis, *part};
  int left = kMaxFindingsOfMenu;
  for (const rules::Finding& finding : analysis->examined()->findings) {
    if (!wanted.quick_fixes || left == 0 || call.stop) break;
    const PartSpan place = analysis->place(finding.span);
    if (place.part != *part || place.span.end < from || place.span.start > to) continue;
    --left;
    add_quick_fixes(request, finding, diagnostic_json(finding, lines, place.span, encoding),
                    actions);
  }
  if (wanted.fix_all) add_fix_all(request, wanted, call.stop, actions);
  return actions;
}

const MethodRegistration kRegistered{{"textDocument/codeAction", Turn::kQueued, &handle}};

// `codeAction/resolve`: the edit of an action that was sent without one.
Answer resolve(Session& session, const Call& call) {
  Json action = call.params;
  const auto source = session.documents.source_of(action.at("data").at("uri").get<std::string>());
  if (!source) return action;
  const auto analysis = session.analysis_of(*source, call.stop);
  if (!analysis) return tl::unexpected<Failure>({RpcError::kCancelled, "cancelled"});
  if (auto edit = workspace_edit(session, *analysis, parts_after_all(*analysis, call.stop)))
    action["edit"] = std::move(*edit);
  return action;
}

const MethodRegistration kResolve{{"codeAction/resolve", Turn::kQueued, &resolve}};

}  // namespace

}  // namespace torchport::server::code_action
