// The lock of this library.
#pragma once

#include <mutex>

namespace torchport::observer {

// Held for short stretches in which nothing of Python's and no other lock is waited for. fork()
// takes it before and gives it back after, on both sides: a child finds whole tables and a free
// lock.
std::mutex& fork_lock();

}  // namespace torchport::observer
