// `textDocument/didSave`: what a file calls counts from now on. A file with settings may be saved
// by a client that watches no files.
#include "source/server/method.h"
#include "source/server/uri.h"

namespace torchport::server::did_save {

namespace {

Answer handle(Session& session, const Call& call) {
  const auto path = path_of_uri(call.params.at("textDocument").at("uri").get<std::string>());
  if (path) outdate_callers(session, *path);
  if (!path || !holds_settings(*path)) return Json();
  session.workspace.forget();
  session.check_all();
  return Json();
}

const MethodRegistration kRegistered{{"textDocument/didSave", Turn::kQueued, &handle}};

}  // namespace

}  // namespace torchport::server::did_save
