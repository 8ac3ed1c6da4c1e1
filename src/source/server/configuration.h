// Takes the client's settings, however it sends them.
#pragma once

#include "source/server/session.h"

namespace torchport::server {

// Worker's thread: uses these settings from now on and checks everything again.
void use_configuration(Session& session, const Json& settings);
// Any thread: asks a client that answers such questions for its section "torchport". Null, the
// answer of a client without one, keeps the settings of `initialize`.
void ask_for_configuration(Session& session);

}  // namespace torchport::server
