// `textDocument/didChange`: edits, each of which applies to the result of those before it.
#include "source/server/method.h"

namespace torchport::server::did_change {

namespace {

Answer handle(Session& session, const Call& call) {
  const Json& document = call.params.at("textDocument");
  const auto uri = document.at("uri").get<std::string>();
  const auto changes = read_changes(call.params.at("contentChanges"));
  // A client may send null as the version of a document that it does not count.
  const Json& version = document.at("version");
  if (!session.documents.change(uri, version.is_null() ? 0 : version.get<std::int64_t>(), changes,
                                session.abilities.encoding))
    return tl::unexpected<Failure>({RpcError::kInvalidParams, uri + " is not open"});
  session.check(uri);
  return Json();
}

const MethodRegistration kRegistered{{"textDocument/didChange", Turn::kAtOnce, &handle}};

}  // namespace

}  // namespace torchport::server::did_change
