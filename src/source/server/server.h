// Runs one connection of the language server protocol 3.17 from the first message to `exit`.
#pragma once

#include <string>

#include "base/file_system.h"
#include "source/server/framing.h"
#include "source/server/json_rpc.h"

namespace torchport::server {

// Reads messages until `exit` or the end of the stream. Returns the exit code that the protocol
// asks for: 0 if `shutdown` came before `exit`, otherwise 1. Nothing that the client sends ends it
// otherwise. `write` is called by two threads, one at a time; `read` by the caller's.
[[nodiscard]] int serve(const base::FileSystem& fs, MessageReader::Read read, Outgoing::Write write,
                        std::string version);

}  // namespace torchport::server
