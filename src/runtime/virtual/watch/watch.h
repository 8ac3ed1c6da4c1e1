// Starts what listens to a program's operators for `torchport run` and `torchport prove`.
//
// The environment asks for it when the library is loaded: TORCHPORT_REPORT counts operators,
// transfers and synchronising reads (report.h), and TORCHPORT_TRACE=FILE writes each call with
// shapes, types and checksums of its results (trace.h). Without them nothing listens and nothing
// costs time.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torchport::vdev {

// Watches the operators of the calling thread from now on. Autograd's threads are watched without
// it.
void watch_this_thread();
// The report so far, as JSON; see RunReport::json(). Thread safe.
[[nodiscard]] std::string watched();
// Writes what the trace has buffered to its file.
void flush_trace();
// A step of an optimizer begins or ends, with these parameters (TraceWriter::begin_step()).
void begin_traced_step(const std::vector<at::Tensor>& parameters);
void end_traced_step(const std::vector<at::Tensor>& parameters);

}  // namespace torchport::vdev
