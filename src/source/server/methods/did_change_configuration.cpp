// `workspace/didChangeConfiguration`: clients send the settings, or only say that they changed.
#include "source/server/configuration.h"
#include "source/server/method.h"

namespace torchport::server::did_change_configuration {

namespace {

Answer handle(Session& session, const Call& call) {
  const Json settings = call.params.value("settings", Json());
  const bool has_any = settings.is_object() && !settings.empty();
  // A client that sends all of its settings has ours among those of others.
  if (has_any && (settings.contains("torchport") || !session.abilities.configuration))
    use_configuration(session, settings);
  else
    ask_for_configuration(session);
  return Json();
}

const MethodRegistration kRegistered{{"workspace/didChangeConfiguration", Turn::kQueued, &handle}};

}  // namespace

}  // namespace torchport::server::did_change_configuration
