// Watches operators as the program calls them: forward and backward, before autograd and before
// they are taken apart.
//
// Switched on by the environment: TORCHPORT_REPORT counts operators, transfers and synchronising
// reads; TORCHPORT_TRACE=FILE writes each call with shapes, types and checksums of its results.
// Without them nothing is registered, and nothing is paid.
#pragma once

#include <string>

namespace torchport::vdev {

// What the environment asks for.
[[nodiscard]] bool watches();
// Operators of the calling thread are watched from now on. Threads of autograd inherit it.
void watch_this_thread();

// The counts so far, as JSON: {"operators": {name: count}, "transfers": [{"kind", "count", "bytes",
// "line"}]}, lines by their numbers (source_lines.h). Thread-safe.
[[nodiscard]] std::string watched();
// Writes out what the trace still holds.
void flush_trace();

}  // namespace torchport::vdev
