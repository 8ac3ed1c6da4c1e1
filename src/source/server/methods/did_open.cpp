// `textDocument/didOpen`.
#include "source/server/method.h"

namespace torchport::server::did_open {

namespace {

Answer handle(Session& session, const Call& call) {
  const Json& document = call.params.at("textDocument");
  const auto uri = document.at("uri").get<std::string>();
  session.documents.open(uri, document.value("languageId", std::string()),
                         document.value("version", std::int64_t{0}),
                         document.at("text").get<std::string>());
  session.check(uri);
  return Json();
}

const MethodRegistration kRegistered{{"textDocument/didOpen", Turn::kAtOnce, &handle}};

}  // namespace

}  // namespace torchport::server::did_open
