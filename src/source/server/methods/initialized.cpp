// `initialized`: asks the client to watch the files with settings and the sources, and for its
// settings.
#include "source/server/configuration.h"
#include "source/server/method.h"
#include "source/server/project_scan.h"

namespace torchport::server::initialized {

namespace {

Json watchers() {
  Json list = Json::array();
  for (const char* pattern :
       {"**/torchport.toml", "**/pyproject.toml", "**/setup.py", "**/setup.cfg",
        "**/requirements.txt", "**/requirements.in", "**/.gitignore", "**/*.py"})
    list.push_back({{"globPattern", pattern}});
  return list;
}

Answer handle(Session& session, const Call&) {
  if (session.abilities.watches_files) {
    session.client.request(
        "client/registerCapability",
        {{"registrations", Json::array({{{"id", "torchport-settings"},
                                         {"method", "workspace/didChangeWatchedFiles"},
                                         {"registerOptions", {{"watchers", watchers()}}}}})}});
  }
  ask_for_configuration(session);
  start_callers_scan(session);
  start_project_scan(session);
  return Json();
}

const MethodRegistration kRegistered{{"initialized", Turn::kQueued, &handle}};

}  // namespace

}  // namespace torchport::server::initialized
