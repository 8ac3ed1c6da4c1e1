// `shutdown`: after it the client may only send `exit`.
#include "source/server/method.h"

namespace torchport::server::shutdown {

namespace {

Answer handle(Session&, const Call&) {
  return Json();
}

const MethodRegistration kRegistered{{"shutdown", Turn::kAtOnce, &handle}};

}  // namespace

}  // namespace torchport::server::shutdown
