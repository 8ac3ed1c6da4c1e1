// Opens the cells of a notebook as documents.
#pragma once

#include "source/server/session.h"

namespace torchport::server {

// Opens cells from the protocol's TextDocumentItems. Throws nlohmann::json::exception if they are
// none.
void open_cells(Session& session, const Json& items);

}  // namespace torchport::server
