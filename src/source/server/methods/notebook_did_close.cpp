// `notebookDocument/didClose`: the diagnostics of its cells are removed.
#include "source/server/method.h"

namespace torchport::server::notebook_did_close {

namespace {

Answer handle(Session& session, const Call& call) {
  const auto uri = call.params.at("notebookDocument").at("uri").get<std::string>();
  session.documents.close_notebook(uri);
  session.check(uri);
  return Json();
}

const MethodRegistration kRegistered{{"notebookDocument/didClose", Turn::kAtOnce, &handle}};

}  // namespace

}  // namespace torchport::server::notebook_did_close
