#include "source/server/project_scan.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "source/server/diagnostics.h"
#include "source/server/session.h"
#include "source/server/uri.h"

namespace torchport::server {

namespace {

constexpr const char* kToken = "torchport-scan";
constexpr const char* kScanName = "scan";  // after "callers"

void check_file(Session& session, const std::string& path) {
  if (rules::kind_of_path(path) == rules::FileKind::kNotebook || session.is_open(path)) return;
  auto text = session.fs.read(path);
  if (!text) return session.hide_unopened(path);
  Source source{uri_of_path(path), false, {}};
  source.parts.push_back(
      std::make_shared<const Snapshot>(Snapshot{source.uri, {}, 0, 0, std::move(*text)}));
  const Job::Stop never{false};
  const auto analysis = Analysis::make(source, session.workspace, never);
  session.show_unopened(path, diagnostics_json(*analysis, session.abilities.encoding).front());
}

// The files of all folders, with how far the scan is. A new scan takes its place in the session.
class ProjectScan {
 public:
  explicit ProjectScan(Session& session) : session_(session) {
    for (const Folder* folder : session.workspace.folders())
      for (std::string& path :
           project::discover(session.fs, {folder->path}, folder->discovery).files)
        files_.insert(std::move(path));
    next_ = files_.begin();
    if (session.abilities.progress) {
      session.client.request("window/workDoneProgress/create", {{"token", kToken}});
      progress({{"kind", "begin"},
                {"title", "torchport: checking the project"},
                {"percentage", 0},
                {"message", fmt::format("{} files", files_.size())}});
    }
  }
  ~ProjectScan() { end(); }
  ProjectScan(const ProjectScan&) = delete;
  ProjectScan& operator=(const ProjectScan&) = delete;

  // Checks one file. Returns whether there are more.
  bool step() {
    if (next_ == files_.end()) {
      end();
      return false;
    }
    check_file(session_, *next_++);
    const std::size_t percentage = ++done_ * 100 / files_.size();
    if (percentage != shown_) {
      shown_ = percentage;
      progress({{"kind", "report"}, {"percentage", percentage}});
    }
    return true;
  }

 private:
  void progress(Json value) {
    if (session_.abilities.progress && !ended_)
      session_.client.notify("$/progress", {{"token", kToken}, {"value", std::move(value)}});
  }

  void end() {
    progress({{"kind", "end"}});
    ended_ = true;
  }

  Session& session_;
  std::set<std::string> files_;
  std::set<std::string>::const_iterator next_;
  std::size_t done_ = 0;
  std::size_t shown_ = 0;
  bool ended_ = false;
};

}  // namespace

void start_project_scan(Session& session) {
  session.hide_all_unopened();
  if (!session.workspace.client_settings().whole_project) {
    session.jobs.set_idle(kScanName, {});
    return;
  }
  auto scan = std::make_shared<ProjectScan>(session);
  session.jobs.set_idle(kScanName, [scan] { return scan->step(); });
}

void check_unopened(Session& session, const std::string& path) {
  if (!session.workspace.client_settings().whole_project) return;
  const std::string own = session.fs.canonical(path).value_or(path);
  const auto folders = session.workspace.folders();
  const bool inside = std::any_of(folders.begin(), folders.end(), [&](const Folder* folder) {
    return own.starts_with(folder->path + "/");
  });
  if (inside) check_file(session, own);
}

}  // namespace torchport::server
