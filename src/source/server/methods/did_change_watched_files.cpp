// `workspace/didChangeWatchedFiles`: files changed on the disk, which may have settings.
#include "source/server/method.h"
#include "source/server/project_scan.h"
#include "source/server/uri.h"

namespace torchport::server::did_change_watched_files {

namespace {

Answer handle(Session& session, const Call& call) {
  bool settings = false;
  for (const Json& change : call.params.at("changes")) {
    const auto path = path_of_uri(change.at("uri").get<std::string>());
    if (!path) continue;
    outdate_callers(session, *path);
    const std::string& own = session.workspace.client_settings().configuration;
    if (holds_settings(*path) || (!own.empty() && path->ends_with(own)))
      settings = true;
    else
      check_unopened(session, *path);
  }
  if (!settings) return Json();
  session.workspace.forget();
  session.check_all();
  return Json();
}

const MethodRegistration kRegistered{{"workspace/didChangeWatchedFiles", Turn::kQueued, &handle}};

}  // namespace

}  // namespace torchport::server::did_change_watched_files
