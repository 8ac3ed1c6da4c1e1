// Folders that belong to this user alone: for what is loaded or obeyed later.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace torchport::base {

// Creates the folder and those above it, as far as they are missing, and returns its path. Fails
// with kIo if it cannot be created, or is not a folder of this user into which nobody else may
// write: the message says why and what to do. A link in place of the folder is refused. Thread
// safe.
[[nodiscard]] Result<std::string> private_folder(const std::string& path);

// Where torchport keeps what it cannot make again: $TORCHPORT_STATE_DIR, else a folder of
// $XDG_STATE_HOME or of $HOME, else one of /tmp that has this user's number in its name. `variable`
// reads an environment variable, empty if it is not set.
[[nodiscard]] std::string state_folder(const std::function<std::string(const char*)>& variable);

}  // namespace torchport::base
