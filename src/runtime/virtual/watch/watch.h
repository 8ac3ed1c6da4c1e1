// What listens to a program's operators for `torchport run` and `torchport prove`.
//
// Asked for by the environment, when the library is loaded: TORCHPORT_REPORT counts operators,
// transfers and synchronising reads (report.h); TORCHPORT_TRACE=FILE writes each call with shapes,
// types and checksums of its results (trace.h). Without them nothing listens, and nothing is paid.
#pragma once

#include <string>

namespace torchport::vdev {

// Operators of the calling thread count from now on. Threads of autograd do so by themselves.
void watch_this_thread();
// The report so far, as JSON: Report::json(). Thread-safe.
[[nodiscard]] std::string watched();
// Writes out what the trace still holds.
void flush_trace();

}  // namespace torchport::vdev
