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

// A folder in place of a home, for a user who has none: one of /tmp with the user's number in its
// name. Whoever may write into it could replace what is below it, so that it is checked like any
// other.
[[nodiscard]] Result<std::string> private_temporary_folder();

// Where torchport keeps what it cannot make again: $TORCHPORT_STATE_DIR, else a folder of
// $XDG_STATE_HOME or of $HOME. Empty if this user has none of them. `variable` reads an environment
// variable, empty if it is not set.
[[nodiscard]] std::string state_folder(const std::function<std::string(const char*)>& variable);

}  // namespace torchport::base
