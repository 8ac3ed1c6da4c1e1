// `textDocument/didClose`: the diagnostics of the document are removed.
#include "source/server/method.h"

namespace torchport::server::did_close {

namespace {

Answer handle(Session& session, const Call& call) {
  const auto uri = call.params.at("textDocument").at("uri").get<std::string>();
  session.documents.close(uri);
  session.check(uri);
  return Json();
}

const MethodRegistration kRegistered{{"textDocument/didClose", Turn::kAtOnce, &handle}};

}  // namespace

}  // namespace torchport::server::did_close
