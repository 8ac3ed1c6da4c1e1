// `$/cancelRequest`: nobody waits for the answer any more.
#include "source/server/method.h"

namespace torchport::server::cancel_request {

namespace {

Answer handle(Session& session, const Call& call) {
  const Json& id = call.params.at("id");
  if (id.is_string() || id.is_number_integer()) session.jobs.cancel("request:" + id.dump());
  return Json();
}

const MethodRegistration kRegistered{{"$/cancelRequest", Turn::kAtOnce, &handle}};

}  // namespace

}  // namespace torchport::server::cancel_request
