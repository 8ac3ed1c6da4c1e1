#include "source/server/session.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/server/diagnostics.h"
#include "source/server/project_scan.h"
#include "source/server/uri.h"

namespace torchport::server {

void Session::check(const std::string& uri) {
  jobs.replace({"check:" + uri, [this, uri](const Job::Stop& stop) { publish(uri, stop); }, {}});
}

void Session::check_all() {
  check_open();
  start_callers_scan(*this);
  start_project_scan(*this);
}

void Session::check_open() {
  for (const std::string& uri : documents.all()) check(uri);
  if (abilities.pulls_diagnostics && abilities.refreshes_diagnostics)
    client.request("workspace/diagnostic/refresh", nullptr);
  if (abilities.refreshes_hints) client.request("workspace/inlayHint/refresh", nullptr);
}

std::shared_ptr<const Analysis> Session::analysis_of(const Source& source, const Job::Stop& stop) {
  const auto known = analyses_.find(source.uri);
  if (known != analyses_.end() && known->second->is_of(source, workspace)) return known->second;
  std::shared_ptr<const Analysis> fresh = Analysis::make(source, workspace, stop);
  show_complaints(workspace.take_complaints());
  // A request for a state that is no longer current must not replace the analysis of a later one.
  const auto current = documents.source_of(source.uri);
  if (fresh && current && current->is_same(source)) analyses_[source.uri] = fresh;
  return fresh;
}

void Session::show_complaints(const std::vector<std::string>& complaints) {
  constexpr int kWarning = 2;
  for (const std::string& text : complaints)
    client.notify("window/showMessage", {{"type", kWarning}, {"message", "torchport: " + text}});
}

bool Session::is_open(const std::string& path) const {
  const auto uris = documents.all();
  return std::any_of(uris.begin(), uris.end(), [&](const std::string& uri) {
    const auto open = path_of_uri(uri);
    return open && fs.canonical(*open).value_or(*open) == path;
  });
}

void Session::show_unopened(const std::string& path, Json diagnostics) {
  if (diagnostics.empty()) return hide_unopened(path);
  unopened_.insert(path);
  client.notify("textDocument/publishDiagnostics",
                {{"uri", uri_of_path(path)}, {"diagnostics", std::move(diagnostics)}});
}

void Session::hide_unopened(const std::string& path) {
  if (unopened_.erase(path) > 0)
    client.notify("textDocument/publishDiagnostics",
                  {{"uri", uri_of_path(path)}, {"diagnostics", Json::array()}});
}

void Session::hide_all_unopened() {
  while (!unopened_.empty()) hide_unopened(std::string(*unopened_.begin()));
}

void Session::log_problems(const Analysis& analysis) {
  constexpr int kWarning = 2;
  if (analysis.examined() == nullptr) return;
  for (const base::Error& problem : analysis.examined()->problems) {
    if (problem.code == base::ErrorCode::kSyntax) continue;  // it is being typed
    client.notify(
        "window/logMessage",
        {{"type", kWarning}, {"message", fmt::format("{}: {}", problem.path, problem.message)}});
  }
}

void Session::publish(const std::string& uri, const Job::Stop& stop) {
  const auto source = documents.source_of(uri);
  std::vector<std::string> parts;
  if (source) {
    for (const SnapshotPtr& part : source->parts) parts.push_back(part->uri);
  } else {
    analyses_.erase(uri);
  }
  // What was closed keeps no diagnostics.
  for (const std::string& before : published_[uri]) {
    if (std::find(parts.begin(), parts.end(), before) != parts.end()) continue;
    shown_.erase(before);
    client.notify("textDocument/publishDiagnostics",
                  {{"uri", before}, {"diagnostics", Json::array()}});
  }
  published_.erase(uri);
  const auto path = path_of_uri(uri);
  if (!source) {
    if (path) check_unopened(*this, *path);
    return;
  }
  if (path) hide_unopened(fs.canonical(*path).value_or(*path));
  // A client that asks for diagnostics would show what is pushed a second time.
  if (abilities.pulls_diagnostics) return;
  published_[uri] = parts;
  const auto analysis = analysis_of(*source, stop);
  if (!analysis || stop) return;
  log_problems(*analysis);
  const auto by_part = diagnostics_json(*analysis, abilities.encoding);
  for (std::size_t i = 0; i < by_part.size(); ++i) {
    const Snapshot& part = *source->parts[i];
    Json message{{"uri", part.uri}, {"version", part.version}, {"diagnostics", by_part[i]}};
    Json& shown = shown_[part.uri];
    if (shown == message) continue;  // it was checked again, for what other files say
    shown = message;
    client.notify("textDocument/publishDiagnostics", std::move(message));
  }
}

}  // namespace torchport::server
