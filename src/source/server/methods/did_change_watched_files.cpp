// `workspace/didChangeWatchedFiles`: files changed on the disk, which may have settings.
#include <algorithm>

#include "source/server/method.h"
#include "source/server/uri.h"

namespace torchport::server {

namespace {

Answer handle(Session& session, const Call& call) {
  const Json& changes = call.params.at("changes");
  const bool settings = std::any_of(changes.begin(), changes.end(), [&](const Json& change) {
    const auto path = path_of_uri(change.at("uri").get<std::string>());
    const std::string& own = session.workspace.client_settings().configuration;
    return path && (holds_settings(*path) || (!own.empty() && path->ends_with(own)));
  });
  if (!settings) return Json();
  session.workspace.forget();
  session.check_all();
  return Json();
}

const MethodRegistration kRegistered{{"workspace/didChangeWatchedFiles", Turn::kQueued, &handle}};

}  // namespace

}  // namespace torchport::server
