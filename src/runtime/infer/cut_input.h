// Tells of an input that becomes shorter while it is read. Inputs are mapped, and the system
// answers a read behind the end of a file with SIGBUS.
#pragma once

namespace torchport::infer {

// From now on SIGBUS writes "torchport infer: FILE became shorter while it was read" to standard
// error and ends the process with 1.
void report_cut_inputs();

}  // namespace torchport::infer
