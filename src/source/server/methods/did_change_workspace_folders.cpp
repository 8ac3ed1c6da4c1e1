// `workspace/didChangeWorkspaceFolders`: folders come and go.
#include "source/server/method.h"
#include "source/server/uri.h"

namespace torchport::server::did_change_workspace_folders {

namespace {

Answer handle(Session& session, const Call& call) {
  const Json& event = call.params.at("event");
  for (const Json& folder : event.at("removed"))
    if (const auto path = path_of_uri(folder.at("uri").get<std::string>()))
      session.workspace.remove_folder(*path);
  for (const Json& folder : event.at("added"))
    if (const auto path = path_of_uri(folder.at("uri").get<std::string>()))
      session.workspace.add_folder(*path);
  session.check_all();
  return Json();
}

const MethodRegistration kRegistered{
    {"workspace/didChangeWorkspaceFolders", Turn::kQueued, &handle}};

}  // namespace

}  // namespace torchport::server::did_change_workspace_folders
