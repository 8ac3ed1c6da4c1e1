// Provides the one lock of this library, so that fork() has one lock to take.
#pragma once

#include <mutex>

namespace torchport::observer {

// It is held for short times only, and its holder takes no other lock and does not call Python. A
// fork handler takes it before fork() and releases it on both sides, so that a child process finds
// complete tables and a free lock.
std::mutex& fork_lock();

}  // namespace torchport::observer
